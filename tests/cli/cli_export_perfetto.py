"""treadle export --format perfetto: read by field number, as the published description of traces has them."""
import bench
import perfetto_decoded
from protobuf_wire import message, one

MS = 1_000_000


class Perfetto(bench.Bench):
    def export(self, kind, *arguments, number=0):
        self.make(kind, number=number)
        self.treadle("export", "-f", "perfetto", "-o", "x", f"{kind}.ledger", *arguments)
        return perfetto_decoded.read(self, self.path("x"))

    def test_plain(self):
        trace = self.export("plain")
        process = message(one(trace.tracks[1], 3))
        self.assertEqual((one(process, 1), one(process, 6)), (4242, b"demo.Main --rounds 3"))
        self.assertTrue(all(one(track, 5) == 1 for place, track in trace.tracks.items() if place != 1))
        tracks = trace.by_name()
        self.assertEqual(list(tracks), [f"{name} (tree of cpu totals, no time line)"
                                        for name in ("main", "worker-1", "GC Thread#0", "helper")])
        main, worker = list(tracks.values())[:2]
        self.assertEqual([(depth, name, begin // MS, end // MS) for depth, name, _, begin, end, _ in main],
                         [(0, "(thread)", 0, 1100), (1, "demo.Main.main", 0, 1000),
                          (2, "demo.Main.fib", 0, 800), (3, "demo.Main.fib", 0, 500)])
        self.assertEqual(main[3][5], {"base": 500 * MS, "cum": 500 * MS, "calls": 90, "recursion": 1})
        self.assertEqual([(name, category, begin // MS, end // MS)
                          for _, name, category, begin, end, _ in worker[1:]],
                         [("(between Java threads)", "gap", 0, 50), ("demo.Main.work", "exact", 50, 2600),
                          ("demo.Main.fib", "exact", 50, 250)])
        totals = worker[0][5]
        self.assertEqual((totals["kind"], totals["tids"], totals["cpu_ns"], totals["calls"]),
                         ("platform", "4243 4250", 2600 * MS, 11))
        self.assertEqual((totals["read_bytes"], totals["run_queue_delay_ns"]), (1_234_560, 30 * MS))

    def test_other_metric(self):
        tracks = self.export("plain", "-m", "calls", "-t", "main").by_name()
        self.assertEqual(list(tracks), ["main (tree of calls totals, no time line)"])
        self.assertEqual([(name, begin, end) for _, name, _, begin, end, _ in list(tracks.values())[0]],
                         [("(thread)", 0, 103), ("demo.Main.main", 0, 103), ("demo.Main.fib", 0, 100),
                          ("demo.Main.fib", 0, 90), ("demo.Main.work", 100, 102)])

    def test_sampled_frames(self):
        slices = list(self.export("sampled", "-t", "main").by_name().values())[0]
        self.assertEqual({name: category for _, name, category, _, _, _ in slices}, {
            "(thread)": "exact", "demo.Main.main": "exact", "demo.Main.work": "exact",
            "demo.Inner.loop": "sampled", "java.util.HashMap.put": "sampled", "call_stub [jvm]": "native",
            "demo::Engine::spin(int) [libdemo.so]": "native", "vfs_read [kernel]": "native"})
        notes = {name: notes for _, name, _, _, _, notes in slices}
        # As cli_samples works them out: 0.2007 and 0.2187 of 200 ms.
        self.assertAlmostEqual(notes["demo.Inner.loop"]["base_error_ns"] / MS, 40.14, delta=0.01)
        self.assertAlmostEqual(notes["demo.Inner.loop"]["cum_error_ns"] / MS, 43.74, delta=0.01)
        self.assertNotIn("cum_error_ns", notes["demo.Main.work"], "measured")

    def test_sums_are_those_of_the_report(self):
        trace = self.export("family")
        ends = {name.removesuffix(" (tree of cpu totals, no time line)"): slices[0][4]
                for name, slices in trace.by_name().items()}
        self.assertEqual(ends, {thread["name"]: thread["cpu_ns"]
                                for thread in self.json("report")["threads"]})

    def test_hostile_names_and_damaged_sums(self):
        names = list(self.export("hostile").by_name())
        self.assertIn("two\nlines\tand a tab (tree of cpu totals, no time line)", names)
        self.assertIn("nul \0 inside (tree of cpu totals, no time line)", names)
        self.assertIn("x" * 10240 + " (tree of cpu totals, no time line)", names)
        self.export("overflow")
        deep = self.export("deep", number=5000).by_name()
        self.assertEqual(max(s[0] for s in list(deep.values())[0]), 5000)


if __name__ == "__main__":
    bench.main()
