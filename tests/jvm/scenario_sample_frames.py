"""Samples have the frames that a thread's stack has, by name: what a compiler has inlined, stubs, libraries, Java
below native code below Java, thousands of frames, those of virtual threads, and the JVM's own threads'. And the
views of samples say so."""

import json
from pathlib import Path

import harness
import sampled

CPU_MS = 300
SOURCES = Path(__file__).resolve().parent
DEPTH = 2000
SPINS = "x = x * 6364136223846793005L + i;"
MOST = 0.5  # of a thread's samples; others are of its start and of measuring

# A thread, and frames that must stand in most of its samples; in order, `a > b`: b right below a.
STACKS = (
    ("inline", ("Frames.repeat", "Frames.caller > Frames.inlined")),
    ("deflate", ("Frames.deflate", "java.util.zip.Deflater.deflate*", "* [[]libz*.so*]")),
    ("native", ("Frames.throughNative > Frames.between > Java_Frames_between [[]libframes.so]", "Frames.below",
                "Frames.spin")),
    ("reflect", ("Frames.reflect > java.lang.reflect.Method.invoke", "Frames.reflected")),
)
COPIES = ("*arraycopy* [[]*]", "*mem*cpy* [[]*]", "*mem*move* [[]*]")


def frames(test):
    for measure in (compiled, interpreted, collected):
        sampled.check_unless_chance(test, lambda longer, measure=measure: measure(test, longer))


def run(test, *command, **options):
    test.ledger.unlink(missing_ok=True)
    plain = test.java(*command)
    agent = test.agent_option(events="none", sample="cpu", interval="1ms", **options)
    test.same_for_user(plain, test.java(*command, agent=agent))
    views = test.checked_report()
    sampled.check_books(test, views)
    return views


def check_most(test, found, what, condition, share=MOST):
    all_ = sampled.count(found)
    right = sampled.count(found, condition)
    print(f"{what}: {right} of {all_}")
    wrong = [path[-12:] for path, _ in found if not condition(path)]
    test.check_likely(all_ >= CPU_MS // 10 and right >= share * all_, what,
                      f"{what}: {right} of {all_} samples; others are {wrong[:5]}")


def compiled(test, longer):
    native_accessors = ["-Djdk.reflect.useNativeAccessorOnly=true"] if test.major >= 22 else []
    tree = run(test, *native_accessors, "Frames", CPU_MS * longer)["tree"]
    for thread, wanted in STACKS:
        check_most(test, sampled.stacks(tree, thread), f"{thread}: {wanted}",
                   lambda path, wanted=wanted: sampled.follow(path, *wanted))
    check_most(test, sampled.stacks(tree, "copy"), "copy",
               lambda path: any(sampled.follow(path, "Frames.copy", stub) for stub in COPIES))
    check_most(test, sampled.stacks(tree, "recurse"), f"{DEPTH} frames",
               lambda path: path.count("Frames.down") == DEPTH)
    if test.major >= 22:
        check_most(test, sampled.stacks(tree, "reflect"), "reflect through native code",
                   lambda path: sampled.follow(path, "java.lang.reflect.Method.invoke",
                                               "*NativeAccessor.invoke0", "* [[]libjvm.so]",
                                               "Frames.reflected"))
    if test.major >= 21:
        virtual(test, tree)
    views(test)


def virtual(test, tree):
    found = [pair for row in tree["threads"] if row["kind"] == "virtual"
             for pair in sampled.stacks({"threads": [row]})]
    check_most(test, found, "virtual: middle", lambda path: sampled.follow(path, "Frames.middle > Frames.spin"))
    # After a mount the frames below are in the heap, and come back as they are returned to.
    check_most(test, found, "virtual: to the end",
               lambda path: sampled.follow(path, "java.lang.VirtualThread.run", "Frames.virtual > Frames.middle"),
               share=0.2)
    strange = [path for path, _ in found if any("ForkJoin" in frame for frame in path)]
    test.check(not strange, f"frames of the carrier below those of a virtual thread: {strange[:3]}")


def views(test):
    """Of the threads of compiled()."""
    images = {row["image"]: row["samples"] for row in test.report("images")["images"]}
    test.check_likely(images.get("Java, compiled", 0) > 0 and images.get("libjvm.so", 0) > 0 and
                      any(name.startswith("libz") for name in images), "images", f"images: {images}")
    procedures = test.report("procedures")["procedures"]
    top = {f"{row['class']}.{row['method']}" for row in procedures[:8]}
    test.check_likely({"Frames.spin", "Frames.inlined"} <= top, "procedures", f"procedures: {top}")
    shares = sum(row["share_ppm"] for row in procedures)
    test.check(980_000 <= shares <= 1_000_000, f"procedures have {shares} ppm together")
    done = test.run([test.treadle, "annotate", "Frames.spin", test.ledger, "--json", "--source", SOURCES])
    test.check(done.status == 0 and not done.err, f"annotate: {done.err}")
    (method,) = json.loads(done.out)["methods"]
    rows = [row for listing in method["listings"] if listing["kind"] == "source" for row in listing["rows"]]
    loop = sum(row["samples"] for row in rows if SPINS in row["text"] or "for (int i" in row["text"])
    # A timer samples once a tick, where there are no perf events: four threads go there.
    test.check_likely(method["samples"] > CPU_MS // 2 and loop >= 0.9 * method["samples"], "annotate",
                      f"annotate: {loop} of {method['samples']} samples are in the loop: {rows}")


def interpreted(test, longer):
    tree = run(test, "-Xint", "Frames", CPU_MS * longer)["tree"]
    for thread, wanted in (("inline", ("Frames.repeat", "Frames.caller")), *STACKS[2:]):
        check_most(test, sampled.stacks(tree, thread), f"-Xint {thread}",
                   lambda path, wanted=wanted: sampled.follow(path, *wanted))
    inlined = sampled.count(sampled.stacks(tree, "inline"), lambda path: path[-1] == "Frames.inlined")
    test.check_likely(inlined > CPU_MS // 20, "not inlined", f"-Xint: {inlined} samples in the method that nobody inlines")
    marks = set()
    for key, samples in sampled.stacks(tree, "inline", key=lambda node: (sampled.name_of(node), node["mark"])):
        marks |= {mark for name, mark in key if name.startswith("Frames.")}
    test.check(marks == {"I"}, f"-Xint: marks {marks}, not I")


def collected(test, longer):
    tree = run(test, "-XX:-UseDynamicNumberOfCompilerThreads", "-XX:+UseG1GC", "-XX:ParallelGCThreads=2",
               "-Xmx64m", "Garbage", 1500 * longer)["tree"]
    for name in ("GC Thread*", "C1 CompilerThre*", "C2 CompilerThre*"):
        found = sampled.stacks(tree, name)
        in_jvm = sampled.count(found, lambda path: sampled.follow(path, "* [[]libjvm.so]"))
        all_ = sampled.count(found)
        # What a thread does before it is in libjvm, and walks that fail, may be a good part of few.
        test.check_likely(in_jvm > 0 and in_jvm >= 0.9 * all_ - sampled.FAILED_ANYWAY, name,
                          f"{name}: {in_jvm} of {all_} in libjvm: {found[:5]}")


if __name__ == "__main__":
    harness.main(frames)
