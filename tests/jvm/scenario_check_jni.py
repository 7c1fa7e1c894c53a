"""-Xcheck:jni has nothing to say about the agent."""

import harness


def check_jni(test):
    for name in ("NativeCalls", "NativeAttach", "NamedThreads", "Exceptions", "Renames"):
        plain = test.java("-Xcheck:jni", name)
        traced = test.java("-Xcheck:jni", name, agent=test.agent_option())
        test.same_for_user(plain, traced, name)


if __name__ == "__main__":
    harness.main(check_jni)
