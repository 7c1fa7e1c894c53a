#!/usr/bin/env python3
"""What logical stacks cost: a push and pop beside none, unwatched and while `treadle sample` watches at 1,000 a second;
and what the sampler itself takes, of 64 threads at that rate. Prints a table; nothing fails.

    activity.py --treadle TREADLE --pairs activity_pairs --shares known_shares"""

import argparse
import json
import resource
import subprocess
import tempfile

import machine


def run_pairs(options, folder, watched):
    program = subprocess.Popen([options.pairs, "watched" if watched else "unwatched"], stdout=subprocess.PIPE)
    program.stdout.readline()
    sampler = None
    if watched:
        sampler = subprocess.Popen([options.treadle, "sample", str(program.pid), "--every", "1ms", "-o", "pairs.ledger"],
                                   cwd=folder, stdout=subprocess.DEVNULL)
    result = json.loads(program.communicate()[0])
    if sampler:
        sampler.wait()
    return result


def sampler_share(options, folder, milliseconds=10000):
    """CPU of the sampler and how many samples it took, of 64 threads."""
    program = subprocess.Popen([options.shares, str(milliseconds)], stdout=subprocess.PIPE)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([options.treadle, "sample", str(program.pid), "--every", "1ms", "--for", "8s", "-o", "64.ledger"],
                   cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    known = json.loads(program.communicate()[0])
    view = json.loads(subprocess.run([options.treadle, "report", "64.ledger", "-v", "activity", "--json"], cwd=folder,
                                     stdout=subprocess.PIPE, check=True).stdout)
    samples = sum(thread["cum"]["samples"] for thread in view["threads"])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, samples, view["stack_losses"], known["pushes_a_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("treadle", "pairs", "shares"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    print(machine.facts())
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'a push and pop, beside none':34}{'plain':>10}{'with text':>12}{'with an id':>13}")
        for watched in (False, True):
            found = run_pairs(options, folder, watched)
            print(f"{'  watched' if watched else '  not watched':34}"
                  f"{(found['plain_ps'] - found['none_ps']) / 1000:>7.2f} ns"
                  f"{(found['text_ps'] - found['none_ps']) / 1000:>9.2f} ns"
                  f"{(found['id_ps'] - found['none_ps']) / 1000:>10.2f} ns")
        cpu, samples, losses, pushes = sampler_share(options, folder)
        print(f"64 threads, {pushes / 1e6:.1f} million pushes a second, 1,000 samples a second asked for 8 s:")
        print(f"  {samples} samples of threads, {losses['late_samples']} moments late, {losses['torn_stacks']} torn")
        print(f"  the sampler used {cpu:.2f} s of CPU, {cpu / samples * 1e6:.2f} us a sample of a thread")


if __name__ == "__main__":
    main()
