"""A real program with every method traced: javac compiling a part of java.util. The classes are the same
as without the agent, the kernel's CPU is charged to within 0.5 %, and every stanza adds up."""

import harness
import javac

FILES = ("AbstractCollection", "AbstractList", "ArrayDeque", "BitSet", "Objects")


def books(test):
    javac.extract(test, FILES)
    plain = javac.compile_into(test, "plain", FILES)
    traced = javac.compile_into(test, "traced", FILES, agent=test.agent_option(max_mem="256M"))
    test.same_for_user(plain, traced)
    test.check(plain.status == 0, f"javac: {plain.err}")
    test.check(javac.classes_in(test, "plain") == javac.classes_in(test, "traced"),
               "the classes differ")
    views = test.checked_report(views=("threads", "flat", "callers"))
    test.close_balance(views)
    test.check(len(views["flat"]["methods"]) > 1000, "javac has more methods than that")


if __name__ == "__main__":
    harness.main(books)
