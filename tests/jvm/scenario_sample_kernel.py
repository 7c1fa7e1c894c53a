"""The kernel's time is a frame of its own below the method that caused it, by page faults as by system calls, and is
as much as the kernel counts: in each phase of a program, which says how the kernel divides it, and in the thread as
a whole. By timers and by perf events; these name the kernel's functions where they may, and the report says what is
missing where they may not."""

import harness
import sampled

TICKS = 100  # of 10 ms: CPU of a phase
PHASES = ("computing", "faulting", "calling")
POINTS = 0.06  # the kernel divides by its ticks; samples and ticks meet the border of a system call differently
SIGMAS = 3
OF_THE_THREAD = 0.05  # what the thread used before it was sampled is divided otherwise
FUNCTIONS = {"faulting": "fault", "calling": "read"}


def kernel_time(test):
    for clock, interval in (("timer", "10ms"), ("perf", "5ms")):
        sampled.check_unless_chance(test, lambda longer, how=(clock, interval): by_clock(test, *how, longer))


def by_clock(test, clock, interval, longer):
    """A sample that stands for the time in which a host took the processor away is the kernel's or not, by chance; the
    kernel's own division counts one tick then."""
    test.ledger.unlink(missing_ok=True)
    done = test.java("KernelTime", test.scratch / "mapped", TICKS * longer, agent=test.agent_option(
        **{"events": "none", "sample": "cpu", "interval": interval, "sample-clock": clock}))
    test.check(done.status == 0, f"{clock}: {done}")
    truth = {words[1]: [int(word) for word in words[2:]] for words in map(str.split, done.out.splitlines())
             if words[0] == "phase"}
    views = test.checked_report()
    told = sampled.check_books(test, views, clock)
    main = max((row for row in views["tree"]["threads"] if row["kind"] == "platform"),
               key=lambda row: row["cpu_ns"])
    for phase in PHASES:
        check_phase(test, f"{clock}: {phase}", main, phase, truth[phase])
    check_thread(test, clock, main, views)
    check_names(test, told, main, test.text_report(test.ledger).out)


def below(node, kernel=0):
    """CPU, CPU in the kernel's frames, samples, the kernel's functions."""
    cpu, samples, names = node["base"]["cpu_ns"], node["samples"], set()
    kernel = cpu if node["mark"] == "K" else 0
    if node["mark"] == "K":
        names.add(node["method"])
    for child in node["children"]:
        more = below(child)
        cpu, kernel, samples, names = cpu + more[0], kernel + more[1], samples + more[2], names | more[3]
    return cpu, kernel, samples, names


def of_phase(main, phase):
    totals = [0, 0, 0, set()]
    for node, _, above in harness.nodes_of(main["root"]):
        if node["class"] == "KernelTime" and node["method"] == phase and not above:
            totals = [a | b if isinstance(a, set) else a + b for a, b in zip(totals, below(node))]
    return totals


def check_phase(test, what, main, phase, truth):
    user, system = truth
    cpu, kernel, samples, _ = of_phase(main, phase)
    test.check_likely(samples > 20, f"{what}: samples", f"{what}: only {samples} samples")
    is_, share = system / (user + system), kernel / max(cpu, 1)
    told = f"{what}: {share:.3f} in the kernel's frames of {samples} samples, {is_:.3f} by the kernel"
    print(told)
    error = sampled.error_of_share(is_, max(samples, 1), SIGMAS)
    test.check_likely(abs(share - is_) <= POINTS + error, what, told)


def check_thread(test, what, main, views):
    row = next(thread for thread in views["threads"]["threads"] if thread["tids"] == main["tids"])
    cpu, kernel, _, _ = below(main["root"])
    system = row["metrics"]["system"]
    told = f"{what}: the kernel's frames have {kernel} ns, the thread {system} ns of system time and {cpu} ns of CPU"
    print(told)
    test.check_likely(abs(kernel - system) <= OF_THE_THREAD * cpu, f"{what}: thread", told)


def check_names(test, told, main, text):
    kernel = told["kernel"]
    test.check(kernel["samples"] > 0, f"no samples in the kernel: {told}")
    if kernel["needs"]:
        print(f"{told['clock']}: functions need {kernel['needs']}")
        test.check(kernel["needs"] in " ".join(text.split()), f"the report does not say what functions need: {text}")
        return
    test.check(told["clock"] == "perf", f"nothing needed, and yet no perf events: {told}")
    test.check_likely(kernel["with_functions"] > 0.8 * kernel["samples"], "functions", f"few have functions: {kernel}")
    for phase, part in FUNCTIONS.items():
        names = of_phase(main, phase)[3]
        test.check_likely(any(part in name for name in names), f"{phase}: names",
                          f"no function with '{part}' below {phase}: {names}")


if __name__ == "__main__":
    harness.main(kernel_time)
