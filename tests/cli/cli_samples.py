"""treadle report on a ledger with samples: sampled_drawing.h draws it, a sample every 10 ms."""
import bench

MS = 1_000_000

LOSSES = """\
lost      3 samples dropped: there was no room for them
lost      2 samples of kernel threads that have no row

"""

SAMPLES = """
Samples
  mode cpu, one sample every 10.0 ms, clock timer: a timer on each kernel thread's CPU clock \
(perf events were refused: Permission denied)
  native frames walked with tables, made of the images' call frame information
  taken                                        65
  of which dropped, no room                     3         4.6 %
  of which no thread's                          2         3.1 %
  stacks not walked to their end               13        20.0 %
    4: an image that does not say how to unwind there
    9: deeper than a sample has room for
  frames of code that was gone                  4
  the fullest buffer was 25.0 % full
  a share of 2 % is known to ± 3.54 % points (95 %)
"""


def nodes(tree):
    """A tree's nodes, parents first."""
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


class Samples(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("sampled")

    def report(self, view, *arguments):
        return self.treadle("report", "sampled.ledger", "--view", view, *arguments)

    def report_json(self, view, *arguments):
        return self.json("report", "sampled.ledger", "--view", view, *arguments)

    def test_tree(self):
        self.assertEqual(self.report("tree", "--thread", "[mG]*"), LOSSES + """\
Call trees, Base and Cum (of which Share) in cpu, 2 of 3 threads
Level   RL    Calls       Base          ±        Cum          ±    Share  Samples     Name

main  (platform, alive)  300 ms CPU, 10.00 s wall, 5 calls
    0    0        0          0                300 ms              50.0 %        0     (thread)
    1    0        1    10.0 ms   ±30.4 ms     300 ms              50.0 %        1  J    demo.Main.main
    2    0        4    50.0 ms   ±43.7 ms     200 ms              33.3 %        5  J      demo.Main.work
    3    0        0     100 ms   ±40.1 ms     150 ms   ±43.7 ms   25.0 %       10  I        demo.Inner.loop
    4    0        0    40.0 ms   ±43.2 ms    40.0 ms   ±43.2 ms    6.7 %        4  N          demo::Engine::spin(int) [libdemo.so]
    4    0        0    10.0 ms   ±37.2 ms    10.0 ms   ±37.2 ms    1.7 %        1  N          call_stub [jvm]
    2    0        0    30.0 ms   ±30.3 ms    90.0 ms   ±30.4 ms   15.0 %        3  J      java.util.HashMap.put
    3    0        0    40.0 ms   ±28.7 ms    40.0 ms   ±28.7 ms    6.7 %        4  N        demo::Engine::spin(int) [libdemo.so]
    3    0        0    20.0 ms   ±31.0 ms    20.0 ms   ±31.0 ms    3.3 %        2  K        vfs_read [kernel]

GC Thread#0  (vm, alive)  300 ms CPU, 10.00 s wall, 0 calls
    0    0        0    50.0 ms   ±50.7 ms     300 ms              50.0 %        5     (thread)
    1    0        0     250 ms   ±50.7 ms     250 ms   ±50.7 ms   41.7 %       25  N    libjvm.so+0x8a3f10 [libjvm.so]
""" + SAMPLES)

    def test_tree_json(self):
        report = self.report_json("tree")
        main = next(t for t in report["threads"] if t["name"] == "main")
        found = {(n["class"], n["method"]): n for n in nodes(main["root"]) if n["method"] != "spin"}
        self.assertEqual(
            {key[1]: (n["kind"], n["mark"], n["samples"], n["calls"], n["base"]["cpu_ns"] // MS)
             for key, n in found.items() if not key[1].startswith("demo::")},
            {"<thread>": ("exact", None, 0, 0, 0), "main": ("exact", "J", 1, 1, 10),
             "work": ("exact", "J", 5, 4, 50), "put": ("sampled", "J", 3, 0, 30),
             "loop": ("sampled", "I", 10, 0, 100), "vfs_read": ("native", "K", 2, 0, 20),
             "call_stub": ("native", "N", 1, 0, 10)})
        self.assertEqual(main["root"]["cum"]["cpu_ns"], 300 * MS)
        self.assertEqual(main["root"]["cum"]["samples"], 30)
        # 15 of the 20 samples below work, whose 200 ms were measured. Wilson's interval of 0.75 in
        # 20 is 0.5313 to 0.8881: at the farther end 0.2187 of 200 ms. On top: 10 of 20, 0.2993 to
        # 0.7007, 0.2007 of 200 ms. What was measured has no error, but its part on top has.
        loop = found["demo.Inner", "loop"]
        self.assertAlmostEqual(loop["cum_error_ns"] / MS, 43.74, delta=0.01)
        self.assertAlmostEqual(loop["error_ns"] / MS, 40.14, delta=0.01)
        self.assertEqual(found["demo.Main", "work"]["cum_error_ns"], 0)
        self.assertEqual(loop["share_ppm"], 150_000_000 // 650)
        # The waiting stays where it was measured: 100 ms in main, 200 ms in work.
        self.assertEqual(found["demo.Main", "work"]["base"]["wall_ns"], 250 * MS)
        self.assertEqual(found["demo.Inner", "loop"]["base"]["wall_ns"], 100 * MS)
        self.assertEqual(report["balance"]["samples"], {
            "mode": "cpu", "interval_ns": 10 * MS, "clock": "timer", "clock_errno": 13, "timer_errno": 0, "unwind": "tables", "taken": 65,
            "dropped": 3, "homeless": 2, "frames_of_gone_code": 4, "buffer_bytes": 65536, "fill_bytes": 16384,
            "failed_walks": {"unknown_code": 0, "no_unwind": 4, "bad_frame": 0, "bad_method": 0,
                             "fault": 0, "too_deep": 9, "busy": 0},
            "kernel": {"samples": 0, "with_functions": 0, "needs": None},
            "error_of_2_percent_ppm": 35424})

    def test_flat_and_callers(self):
        text = self.report("flat", "--top", "3")
        self.assertEqual(text[:text.index("(6 more")], LOSSES + """\
Methods, Base (of which Share) and Cum in cpu, 3 of 3 threads
    Calls       Base          ±        Cum          ±    Share  Samples     Name
        0     250 ms   ±50.7 ms     250 ms   ±50.7 ms   38.5 %       25  N  libjvm.so+0x8a3f10 [libjvm.so]
       13     100 ms   ±43.7 ms     250 ms              15.4 %        5  J  demo.Main.work
        0     100 ms   ±40.1 ms     150 ms   ±43.7 ms   15.4 %       10  I  demo.Inner.loop
""")
        self.assertTrue(text.endswith(SAMPLES))
        text = self.report("callers")
        self.assertIn("""
        0    40.0 ms   ±28.7 ms    40.0 ms   ±28.7 ms    6.2 %        4  J      java.util.HashMap.put
        0    40.0 ms   ±43.2 ms    40.0 ms   ±43.2 ms    6.2 %        4  I      demo.Inner.loop
        0    80.0 ms   ±51.9 ms    80.0 ms   ±51.9 ms   12.3 %        8  N  demo::Engine::spin(int) [libdemo.so]
""", text)
        stanza = next(m for m in self.report_json("callers")["methods"]
                      if m["self"]["method"] == "loop")
        self.assertEqual([child["samples"] for child in stanza["children"]], [4, 1])
        self.assertEqual(stanza["parents"][0]["mark"], "J")

    def test_each_sampled_amount_of_callers_has_its_error(self):
        # loop is called from work: 10 of the 20 samples of work's 200 ms on top of it, 15 in it. It calls spin (4 of
        # the 20) and a stub (1). Wilson's intervals: 0.2007, 0.2187, 0.2160 and 0.1861 of 200 ms.
        stanza = next(m for m in self.report_json("callers")["methods"] if m["self"]["method"] == "loop")
        rows = [*stanza["parents"], stanza["self"], *stanza["children"]]
        self.assertEqual([(round(row["error_ns"] / MS, 1), round(row["cum_error_ns"] / MS, 1)) for row in rows],
                         [(40.1, 43.7), (40.1, 43.7), (43.2, 43.2), (37.2, 37.2)])
        # work was measured, but for what of its 200 ms is its own: 5 of 20 samples.
        main = next(m for m in self.report_json("callers")["methods"] if m["self"]["method"] == "main")
        work = next(row for row in main["children"] if row["method"] == "work")
        self.assertEqual((round(work["error_ns"] / MS, 1), work["cum_error_ns"]), (43.7, 0))
        rows = self.csv("report", "sampled.ledger", "--view", "callers")
        row = next(row for row in rows if (row["self_method"], row["role"]) == ("loop", "parent"))
        self.assertEqual([round(int(row[key]) / MS, 1) for key in ("error_ns", "cum_error_ns")], [40.1, 43.7])

    def test_a_narrow_terminal_keeps_the_error_of_what_is_shared(self):
        for view, titles in (("tree", ["Base", "Cum", "±", "Share"]), ("flat", ["Base", "±", "Cum", "Share"]),
                             ("callers", ["Base", "Cum", "±", "Share"])):
            text = self.treadle("report", "sampled.ledger", "--view", view, env={"COLUMNS": "80"})
            head = next(line for line in text.splitlines() if line.endswith("Name"))
            self.assertEqual([word for word in head.split() if word not in ("Level", "RL", "Name")], titles)

    def test_flat_by_cum(self):
        text = self.report("flat", "--metric", "samples", "--sort", "cum", "--top", "2")
        self.assertIn("        0          5         60    8.3 %        5     (thread)\n", text)

    def test_images(self):
        text = self.report("images")
        self.assertEqual(text, LOSSES + """\
Images, Base in cpu, 3 of 3 threads
  Samples    Share       Base          ±  Image
       25   41.7 %     250 ms   ±50.7 ms  libjvm.so
       12   20.0 %     120 ms   ±66.7 ms  Java, compiled
        8   13.3 %    80.0 ms   ±51.9 ms  libdemo.so
        7   11.7 %    70.0 ms   ±50.4 ms  Java, interpreted
        5    8.3 %    50.0 ms   ±50.7 ms  (no frame)
        2    3.3 %    20.0 ms   ±31.0 ms  [kernel]
        1    1.7 %    10.0 ms   ±37.2 ms  [jvm]
        0      0 %    50.0 ms             (no samples)
""" + SAMPLES)
        images = self.report_json("images", "--thread", "main")["images"]
        self.assertEqual([(i["image"], i["kind"], i["samples"], i["base"]["cpu_ns"] // MS)
                          for i in images],
                         [("Java, compiled", "java", 12, 120), ("libdemo.so", "native", 8, 80),
                          ("Java, interpreted", "interpreted", 7, 70),
                          ("[kernel]", "kernel", 2, 20), ("[jvm]", "jvm", 1, 10)])
        self.assertEqual(images[1]["path"], "/opt/demo/libdemo.so")
        self.assertEqual(images[0]["share_ppm"], 400_000)
        # Compiled are work (43.74), put (30.32) and four tenths of loop, whose own error is 40.14; of squares the root.
        self.assertAlmostEqual(images[0]["error_ns"] / MS, 66.7, delta=0.1)
        rows = self.csv("report", "sampled.ledger", "--view", "images", "--sort", "name")
        self.assertEqual([row["image"] for row in rows][:3],
                         ["(no frame)", "(no samples)", "Java, compiled"])
        self.assertEqual(sum(int(row["base_cpu_ns"]) for row in rows), 650 * MS)
        self.assertEqual([round(int(row["error_ns"]) / MS, 1) for row in rows][:2], [50.7, 0])

    def test_procedures(self):
        text = self.report("procedures", "--top", "4")
        self.assertEqual(text[:text.index("(5 more, not shown)\n")], LOSSES + """\
Procedures, Base in cpu, 3 of 3 threads
  Samples    Share        ±      Sum       Base          ±     Image                 Name
       25   41.7 %  12.47 %   41.7 %     250 ms   ±50.7 ms  N  libjvm.so             libjvm.so+0x8a3f10
       10   16.7 %   9.43 %   58.3 %     100 ms   ±40.1 ms  I  Java                  demo.Inner.loop
        8   13.3 %   8.60 %   71.7 %    80.0 ms   ±51.9 ms  N  libdemo.so            demo::Engine::spin(int)
        5    8.3 %   6.99 %   80.0 %    50.0 ms   ±50.7 ms     (no frame)            (thread)
""")
        procedures = self.report_json("procedures", "--thread", "GC*")["procedures"]
        self.assertEqual([(p["method"], p["image"], p["samples"], p["share_ppm"],
                           p["cumulative_ppm"]) for p in procedures],
                         [("libjvm.so+0x8a3f10", "libjvm.so", 25, 833_333, 833_333),
                          ("(thread)", "(no frame)", 5, 166_666, 1_000_000)])
        self.assertEqual([round(p["error_ns"] / MS, 1) for p in procedures], [50.7, 50.7])
        rows = self.csv("report", "sampled.ledger", "-v", "procedures", "--sort", "name")
        self.assertEqual(rows[0]["image"], "(no frame)")
        self.assertEqual(sum(int(row["samples"]) for row in rows), 60)

    def test_threads(self):
        self.assertTrue(self.report("threads").endswith(SAMPLES))
        report = self.report_json("threads")
        self.assertEqual({t["name"]: t["samples"] for t in report["threads"]},
                         {"main": 30, "worker": 0, "GC Thread#0": 30})
        self.assertEqual(report["balance"]["samples"]["taken"], 65)
        self.assertEqual(report["balance"]["difference_ppm"], 0)
        self.assertTrue(self.report("spawn").endswith(SAMPLES))
        self.assertIn("SAMPLES", self.report("threads", "--metric", "samples"))

    def test_cpu_and_wall_samples_stay_apart(self):
        # loop: 2 of 10 CPU samples and 100 ms, 15 of 20 wall samples and 200 ms.
        self.make("mixed_samples")
        for metric, samples, base in (("cpu", 2, 20), ("wall", 15, 150)):
            flat = self.json("report", "mixed_samples.ledger", "-v", "flat", "--metric", metric)
            loop = next(m for m in flat["methods"] if m["method"] == "loop")
            self.assertEqual((loop["samples"], loop["cpu_samples"], loop["wall_samples"]),
                             (samples, 2, 15))
            self.assertEqual(loop["base"][metric + "_ns"], base * MS)
            for view in ("flat", "tree", "callers"):
                text = self.treadle("report", "mixed_samples.ledger", "-v", view, "-m", metric)
                row = next(line for line in text.splitlines() if line.endswith("demo.Inner.loop"))
                self.assertIn(f" {samples}  J", row)
            images = self.json("report", "mixed_samples.ledger", "-v", "images", "-m", metric)
            self.assertEqual([(i["image"], i["samples"]) for i in images["images"]],
                             [("Java, compiled", 10 if metric == "cpu" else 20)])
            rows = self.csv("report", "mixed_samples.ledger", "-v", "procedures", "-m", metric)
            self.assertEqual({row["method"]: row["samples"] for row in rows}["loop"], str(samples))
            listing = self.json("annotate", "demo.Inner.loop", "mixed_samples.ledger", "-m", metric)
            self.assertEqual(listing["metric"], metric)
            self.assertEqual([row["samples"] for row in listing["methods"][0]["listings"][0]["rows"]],
                             [2, 0] if metric == "cpu" else [10, 5])
        threads = self.json("report", "mixed_samples.ledger")
        self.assertEqual((threads["threads"][0]["cpu_samples"], threads["threads"][0]["wall_samples"]),
                         (10, 20))
        self.assertEqual((threads["balance"]["samples"]["cpu_samples"],
                          threads["balance"]["samples"]["wall_samples"]), (10, 20))
        self.assertEqual(self.treadle("report", "sampled.ledger", "-m", "wall_samples", "-v", "flat",
                                      status=1),
                         "treadle: sampled.ledger: has no samples of both kinds, CPU and wall: "
                         "--metric samples shows those that it has\n")

    def test_ledgers_without_samples(self):
        self.make("plain")
        for view in ("images", "procedures"):
            complaint = self.treadle("report", "plain.ledger", "--view", view, status=1)
            self.assertEqual(complaint, "treadle: plain.ledger: has no samples: the agent's "
                                        "sample= did not ask for any\n")
        for view in ("threads", "tree", "flat", "callers", "spawn"):
            self.assertNotIn("Samples", self.treadle("report", "plain.ledger", "--view", view))
            report = self.json("report", "plain.ledger", "--view", view)
            self.assertNotIn("samples", report.get("balance", {}))


if __name__ == "__main__":
    bench.main()
