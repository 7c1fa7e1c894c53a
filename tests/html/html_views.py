"""The page of `treadle html` as people use it: sorting, searching, zooming, other metrics and
threads, by mouse and by keys alone. The numbers are those of the drawings in make_ledger.c."""
import shutil

import page


class Threads(page.Page):
    def test_table_and_balance(self):
        self.show("plain")
        self.assertEqual([(row[1], row[4]) for row in self.rows("thread-table")],
                         [("worker-1", "2.60 s"), ("main", "1.10 s"), ("GC Thread#0", "1.00 s"),
                          ("helper", "300 ms")])
        self.assertIn("kernel 5.00 s, charged 5.00 s, difference 100 ns = 0 ppm", self.text("#balance"))
        self.assertIn("VM threads 1.00 s (20.0 %)", self.text("#balance"))
        self.assertEqual(self.run_js("document.title"), "plain.ledger – Treadle")
        self.browser.click_on("#facts summary")
        self.assertIn("kernel CPU of the process", self.text("#facts pre"))
        self.assertEqual(self.browser.requests, [self.url])

    def test_losses_are_told(self):
        self.show("losses")
        self.browser.click_on("#facts summary")
        self.assertIn("12 345", self.text("#facts pre").replace("\u202f", " "))

    def test_sort(self):
        self.show("plain")
        self.browser.click_on("#thread-table [data-key=calls]")
        self.assertEqual(self.column("thread-table", 1)[:2], ["main", "worker-1"])  # 103, 11
        self.browser.click_on("#thread-table [data-key=calls]")
        self.assertEqual(self.column("thread-table", 1)[-1], "main")
        self.browser.click_on("#thread-table [data-key=name]")
        self.assertEqual(self.column("thread-table", 1),
                         ["GC Thread#0", "helper", "main", "worker-1"])
        self.assertEqual(self.hash()["sort"], "name-up")

    def test_find(self):
        self.show("family")
        self.browser.click_on("#find-thread")
        self.browser.type("WORKER")
        self.assertEqual(sorted(self.column("thread-table", 1)), ["worker-# ×3", "worker-9", "worker-x"])
        self.browser.click_on("#fold")
        self.assertEqual(sorted(self.column("thread-table", 1)),
                         ["worker-1", "worker-2", "worker-3", "worker-9", "worker-x"])
        self.assertIn("5 of 12 threads", self.text("#thread-count"))

    def test_only_threads_that_match(self):
        self.show("family", "#pools=open", options=("--thread", "helper-*"))
        self.assertEqual(sorted(self.column("thread-table", 1)), ["helper-1", "helper-7"])
        self.assertEqual(self.run_js("treadle.tree.cum('cpu')[0]"), 30e6)

    def test_several_threads(self):
        self.show("plain")
        self.click_row("thread-table", "main", 0)
        self.click_row("thread-table", "helper", 0)
        self.assertEqual(self.run_js("treadle.tree.cum('cpu')[0]"), 1400e6)
        self.browser.click_on("#show-chosen")
        self.assertIn("2 of 4 threads", self.text("#chosen"))
        self.browser.click_on("#all-threads")
        self.assertEqual(self.run_js("treadle.tree.cum('cpu')[0]"), 5000e6)


class Flame(page.Page):
    def test_zoom(self):
        self.show("plain")
        self.click_row("thread-table", "main", 1)
        self.assertIn("main — CPU cum 1.10 s", self.focused())
        # main 1100 ms: Main.main 1000, in it fib 800, in it fib 500.
        self.browser.move(*self.frame_point(0.5, 1))
        tooltip = self.text("#tooltip")
        self.assertIn("demo.Main.main", tooltip)
        self.assertRegex(tooltip, r"CPU cum\s+1\.00 s\s+90\.9 % of all")
        self.assertRegex(tooltip, r"CPU base\s+200 ms")
        self.browser.click(*self.frame_point(0.5, 2))
        self.assertIn("demo.Main.fib — CPU cum 800 ms (72.7 % of all, 80.0 % of its caller)",
                      self.focused())
        self.assertIn("calls 10 · cum a call 80.0 ms · base a call 30.0 ms", self.focused())
        self.assertIn("zoom", self.hash())
        # The inner fib has 500 of 800 now, so it ends at 62.5 % of the width.
        at = "treadle.views.flame.plugin.frameAt(treadle.views.flame.engine.width * %f, 70)"
        self.assertEqual(self.run_js(at % 0.63), -1)
        self.assertNotEqual(self.run_js(at % 0.62), -1)
        self.browser.click_on("#zoom-reset")
        self.assertNotIn("zoom", self.hash())
        self.run_js("history.back()")
        self.browser.wait_for("treadle.state.zoom !== null")

    def test_wheel(self):
        self.show("plain", "#tab=flame&threads=0")
        x, y = self.frame_point(0.25, 1)
        self.browser.wheel(x, y, -300, modifiers=2)
        view = "treadle.views.flame.engine.getRealView()"
        self.assertLess(self.run_js(view), 1100e6 * 0.9)
        before = self.hash()["zoom"]
        self.assertRegex(before, r"^r0\.\d+-0\.\d+$")
        self.browser.wheel(x, y, 3000, modifiers=2)
        self.assertAlmostEqual(self.run_js(view), 1100e6, delta=10)

    def test_search(self):
        self.show("plain", "#tab=flame&threads=0")
        self.browser.press("/")
        self.browser.type("FIB")
        self.assertEqual(self.text("#matches"), "72.7 % of CPU (800 ms) in 2 frames")
        self.browser.press("Enter")
        self.assertIn("demo.Main.fib — CPU cum 800 ms", self.focused())
        self.browser.click_on("#all-threads")
        self.assertEqual(self.text("#matches"), "20.0 % of CPU (1.00 s) in 3 frames")
        self.browser.press("/")
        self.browser.press("Escape")
        self.assertEqual(self.text("#matches"), "")
        self.browser.type("/^demo.*\\.(work|main)$/")
        self.assertEqual(self.text("#matches"), "71.0 % of CPU (3.55 s) in 3 frames")
        self.browser.press("Escape")
        self.browser.type("/(/")
        self.assertEqual(self.text("#matches"), "no match")

    def test_metric(self):
        self.show("plain", "#tab=flame")
        self.run_js("(metric.value = 'calls', metric.dispatchEvent(new Event('change')))")
        self.assertIn("4 threads — calls cum 114", self.focused())
        self.run_js("(metric.value = 'minor_faults', metric.dispatchEvent(new Event('change')))")
        self.assertIn("min flt cum 33", self.focused())
        # Drawn nodes wait as long as they compute.
        self.run_js("(metric.value = 'waiting', metric.dispatchEvent(new Event('change')))")
        self.assertIn("waiting cum 5.00 s", self.focused())

    def test_merged(self):
        self.show("plain", "#tab=flame")
        # The root, 4 threads; main, fib, fib and work of main; the gap, work and fib of worker-1.
        self.assertEqual(self.run_js("treadle.tree.count"), 12)
        self.browser.click_on("#apart")
        self.assertEqual(self.run_js("treadle.tree.count"), 8)
        self.assertEqual(self.hash()["by"], "method")

    def test_several_processes(self):
        self.make("plain")
        shutil.copy(self.path("plain.ledger"), self.path("other.ledger"))
        self.treadle("merge", "plain.ledger", "other.ledger", "-o", "both.ledger")
        self.open_file(self.treadle("html", "both.ledger").strip())
        figures = self.run_js("[...document.querySelectorAll('#summary .figure')].map((one) => one.textContent)")
        self.assertIn("mergedprocess", figures)

    def test_many_threads(self):
        """Too many for a frame each, unless that is asked for."""
        self.show("chain", "#tab=flame&pools=open", number=200)
        self.assertEqual(self.run_js("treadle.tree.count"), 1 + 1)
        self.browser.click_on("#apart")
        self.assertEqual(self.run_js("treadle.tree.count"), 1 + 200 * 2)

    def test_keys_alone(self):
        self.show("plain")
        self.run_js("document.getElementById('thread-table').focus()")
        self.browser.press("ArrowDown")
        self.browser.press("Enter")  # main
        self.assertIn("main — CPU cum 1.10 s", self.focused())
        self.browser.press("ArrowDown")
        self.browser.press("ArrowDown")
        self.assertIn("demo.Main.fib — CPU cum 800 ms", self.focused())
        self.browser.press("ArrowUp")
        self.assertIn("demo.Main.main", self.focused())
        self.browser.press("Enter")
        self.assertIn("zoom", self.hash())
        self.browser.press("Backspace")
        self.assertNotIn("zoom", self.hash())
        self.browser.press("+")
        self.assertIn("zoom", self.hash())
        self.browser.press("Home")
        self.assertNotIn("zoom", self.hash())
        self.browser.press("f")
        self.assertEqual(self.hash()["root"], "bottom")
        self.browser.press("ArrowUp")
        self.assertIn("demo.Main.main", self.focused())
        self.browser.press("c")
        self.assertEqual(self.text("#self"), "demo.Main.main")
        self.browser.press("?")
        self.assertTrue(self.run_js("document.getElementById('help').open"))
        self.browser.press("Escape")
        for key, tab in ("1", "threads"), ("2", "flame"), ("3", "tree"), ("4", "methods"):
            self.browser.press(key)
            self.assertEqual(self.hash()["tab"], tab)

    def test_neighbours(self):
        self.show("family", "#tab=flame&metric=cpu&by=thread&pools=open")
        self.run_js("document.getElementById('frames').focus()")
        for key, name in (("ArrowDown", "worker-3"), ("ArrowRight", "worker-2"), ("ArrowRight", "worker-1"),
                          ("ArrowLeft", "worker-2")):
            self.browser.press(key)
            self.assertIn(f"{name} — CPU", self.focused())

    def test_deep(self):
        self.show("deep", "#tab=flame", number=3000)
        self.run_js("document.getElementById('frames').focus()")
        self.assertEqual(self.run_js("treadle.views.flame.plugin.rows"), 3001)
        for _ in range(60):
            self.browser.press("ArrowDown")
        self.assertIn("recursion 19 above", self.focused())
        self.assertGreater(self.run_js("treadle.views.flame.plugin.scroll"), 0)

    def test_nothing_of_a_metric(self):
        self.show("plain", "#tab=flame&metric=minor_faults&threads=1")
        self.assertEqual(self.run_js("document.getElementById('frames').dataset.empty"),
                         "no min flt was recorded for these threads")


class Tree(page.Page):
    def test_rows(self):
        self.show("plain", "#tab=tree&threads=0")
        self.assertEqual([(row[0], row[1], row[3], row[4]) for row in self.rows("tree-table")],
                         [("main", "1.10 s", "100 ms", ""),
                          ("demo.Main.main", "1.00 s", "200 ms", "1"),
                          ("demo.Main.fib", "800 ms", "300 ms", "10"),
                          ("demo.Main.fib", "500 ms", "500 ms", "90"),
                          ("demo.Main.work", "0", "0", "2")])
        self.assertEqual(self.rows("tree-table")[3][5:], ["5.56 ms", "3 ×2"])

    def test_open_and_close(self):
        self.show("plain", "#tab=tree&threads=0")
        self.run_js("document.getElementById('tree-table').focus()")
        self.browser.press("ArrowLeft")
        self.assertEqual(self.column("tree-table", 0), ["main"])
        self.browser.press("ArrowRight")
        self.browser.press("ArrowRight")
        self.browser.press("ArrowLeft")
        self.assertEqual(self.column("tree-table", 0), ["main", "demo.Main.main"])
        self.browser.press("*")
        self.assertEqual(len(self.rows("tree-table")), 5)
        self.browser.press("Enter")
        self.assertEqual(self.hash()["tab"], "flame")
        self.assertIn("demo.Main.main", self.focused())

    def test_marks_without_colour(self):
        """What a frame is has a letter and a hatching besides its colour; of thread 0, see
        sampled_drawing.h."""
        self.show("sampled", "#tab=tree&threads=0")
        self.run_js("document.getElementById('tree-table').focus()")
        for _ in range(12):
            self.browser.press("ArrowRight")
            self.browser.press("ArrowDown")
        marks = self.run_js(
            "[...document.querySelectorAll('#tree-table .row')].filter((row) => !row.hidden)"
            ".sort((a, b) => a.index - b.index).map((row) => getComputedStyle("
            "row.querySelector('.frame > span'), '::before').content.replaceAll('\"', ''))")
        rows = self.rows("tree-table")
        self.assertEqual([(mark, row[0], row[1], row[4], row[6]) for mark, row in zip(marks, rows)],
                         [("none", "main", "300 ms", "0", ""),
                          ("none", "demo.Main.main", "300 ms", "10.0 ms", "1"),
                          ("none", "demo.Main.work", "200 ms", "50.0 ms", "4"),
                          ("I", "demo.Inner.loop", "150 ms", "100 ms", ""),
                          ("N", "demo::Engine::spin(int) [libdemo.so]", "40.0 ms", "40.0 ms", ""),
                          ("N", "call_stub [jvm]", "10.0 ms", "10.0 ms", ""),
                          ("J", "java.util.HashMap.put", "90.0 ms", "30.0 ms", ""),
                          ("N", "demo::Engine::spin(int) [libdemo.so]", "40.0 ms", "40.0 ms", ""),
                          ("K", "vfs_read [kernel]", "20.0 ms", "20.0 ms", "")])
        self.run_js("treadle.change({ tab: 'flame', metric: 'samples' })")
        self.browser.drawn()
        self.assertIn("samples cum 30", self.focused())  # 1 3 4 2 5 10 4 1
        patterns = self.run_js("Object.keys(treadle.views.flame.plugin.renderEngine.patterns)")
        self.assertLessEqual({"kind2", "kind3", "kind4", "kind5", "kind6"}, set(patterns))
        self.assertEqual(self.run_js("[...document.querySelectorAll('#legend li')].map((item) => item.innerText.trim())"),
                         ["exact", "JIsampled", "Nnative", "Kkernel"])


class Errors(page.Page):
    """How far times may be off, worked out from the drawings in sampled_drawing.h by Wilson's interval: of 20 samples
    5 are 0.1119 to 0.4687, 10 are 0.2993 to 0.7007, 15 are 0.5313 to 0.8881; of 10 samples 6 are 0.3127 to 0.8318."""

    def lines(self):
        """The line below the flame graph, by frame."""
        count = self.run_js("treadle.tree.count")
        lines = {}
        for frame in range(count):
            line = self.run_js(f"(treadle.views.flame.plugin.focused = {frame}, treadle.views.flame.describe(), "
                               "document.getElementById('frame').textContent)").replace("\u202f", " ")
            parts = ("(not sampled)", "demo.Main.main", "demo.Main.work", "demo.Inner.loop", "HashMap.put", "main", "")
            name = next(part for part in parts if part in line)
            lines.setdefault(name, line)
        return lines

    def test_exact_frames_with_samples_below(self):
        self.show("sampled", "#tab=flame&threads=0")
        lines = self.lines()
        self.assertRegex(lines["demo.Main.work"], r"cum 200 ms \(.*base 50\.0 ms ± 43\.7 ms \(")
        self.assertRegex(lines["demo.Inner.loop"], r"cum 150 ms ± 43\.7 ms \(.*base 100 ms ± 40\.1 ms \(")

    def test_samples_of_cpu_and_of_wall_time(self):
        self.show("mixed_samples", "#tab=flame&threads=0")
        self.assertRegex(self.lines()["HashMap.put"], r"cum 60\.0 ms ± 28\.7 ms \(")
        self.run_js("treadle.change({ metric: 'wall' })")
        self.browser.drawn()
        self.assertRegex(self.lines()["HashMap.put"], r"cum 50\.0 ms ± 43\.7 ms \(")

    def test_what_no_sample_saw(self):
        """10 samples stand for 100 of 1000 ms, to within one sample; so do they for what they leave out."""
        self.show("unseen_samples", "#tab=methods")
        rows = {row[0]: row[1:] for row in self.rows("method-table")}
        self.assertEqual(rows["(not sampled)"], ["", "900 ms", "10.0 ms", "900 ms", "10.0 ms"])
        self.show("unseen_samples", "#tab=flame&threads=0")
        self.assertRegex(self.lines()["(not sampled)"], r"cum 900 ms ± 10\.0 ms \(")

    def test_methods(self):
        """spin has 4 of 10 samples of main's 100 ms (0.1682 to 0.6873 of them, 28.7 ms off at most) and 4 of 20 of work's
        200 ms (0.0807 to 0.4160, 43.2 ms), together the root of both squares; loop 10 of 20 and 15 of 20. work's own are
        5 of 20, and its cum was measured; those of the other thread were measured, too."""
        self.show("sampled", "#tab=methods")
        rows = {row[0]: row[1:] for row in self.rows("method-table")}
        self.assertEqual(rows["demo::Engine::spin(int) [libdemo.so]"], ["", "80.0 ms", "51.9 ms", "80.0 ms", "51.9 ms"])
        self.assertEqual(rows["demo.Inner.loop"], ["", "100 ms", "40.1 ms", "150 ms", "43.7 ms"])
        self.assertEqual(rows["demo.Main.work"], ["13", "100 ms", "43.7 ms", "250 ms", ""])
        self.assertEqual(self.run_js("document.querySelector('#method-table [data-key=cumError]').title"),
                         "how far cum may be off (95 %)")
        self.click_row("method-table", "Inner.loop", 0)
        self.assertRegex(self.text("#self-numbers").replace("\u202f", " "),
                         r"base 100 ms ± 40\.1 ms \(.*cum 150 ms ± 43\.7 ms \(")
        # Called from work, which calls spin (4 of the 20) and a stub (1: 0.0089 to 0.2361, 37.2 ms off at most).
        self.assertEqual(self.rows("parent-table"), [["demo.Main.work", "0", "100 ms", "40.1 ms", "150 ms", "43.7 ms"]])
        self.assertEqual(self.rows("child-table"),
                         [["demo::Engine::spin(int) [libdemo.so]", "", "40.0 ms", "43.2 ms", "40.0 ms", "43.2 ms"],
                          ["call_stub [jvm]", "", "10.0 ms", "37.2 ms", "10.0 ms", "37.2 ms"]])
        self.browser.click_on("#method-table [data-key=baseError]")
        self.assertEqual(self.column("method-table", 0)[0], "demo::Engine::spin(int) [libdemo.so]")

    def test_tree(self):
        self.show("sampled", "#tab=tree&threads=0")
        self.run_js("document.getElementById('tree-table').focus()")
        for _ in range(3):
            self.browser.press("*")
        rows = {row[0]: row[1:6] for row in self.rows("tree-table")}
        self.assertEqual(rows["demo.Main.work"], ["200 ms", "", "66.7 %", "50.0 ms", "43.7 ms"])
        self.assertEqual(rows["demo.Inner.loop"], ["150 ms", "43.7 ms", "50.0 %", "100 ms", "40.1 ms"])
        self.run_js("treadle.change({ metric: 'samples' })")
        self.browser.drawn()
        self.assertEqual({len(row) for row in self.rows("tree-table")}, {7})

    def test_methods_by_other_metrics(self):
        self.show("mixed_samples", "#tab=methods")
        self.assertIn(["java.util.HashMap.put", "", "60.0 ms", "28.7 ms", "60.0 ms", "28.7 ms"], self.rows("method-table"))
        self.run_js("treadle.change({ metric: 'wall' })")
        self.browser.drawn()
        self.assertIn(["java.util.HashMap.put", "", "50.0 ms", "43.7 ms", "50.0 ms", "43.7 ms"], self.rows("method-table"))
        self.run_js("treadle.change({ metric: 'samples' })")
        self.browser.drawn()
        self.assertEqual({len(row) for row in self.rows("method-table")}, {4})


class Methods(page.Page):
    def test_flat(self):
        self.show("plain", "#tab=methods")
        rows = {row[0]: row[1:] for row in self.rows("method-table")}
        self.assertEqual(rows["demo.Main.fib"], ["107", "1.00 s", "1.00 s"])
        self.assertEqual(rows["demo.Main.work"], ["6", "2.35 s", "2.55 s"])
        self.assertEqual(rows["demo.Main.main"], ["1", "200 ms", "1.00 s"])

    def test_callers_and_callees(self):
        self.show("plain", "#tab=methods")
        self.click_row("method-table", "fib", 0)
        self.assertEqual(self.text("#self"), "demo.Main.fib")
        self.assertEqual(sorted(self.rows("parent-table")),
                         [["demo.Main.fib", "90", "500 ms", "0"],
                          ["demo.Main.main", "10", "300 ms", "800 ms"],
                          ["demo.Main.work", "7", "200 ms", "200 ms"]])
        # Of fib's own cum nothing but its base: the inner fib is in it once already.
        self.assertEqual(self.rows("child-table"), [["demo.Main.fib", "90", "500 ms", "0"]])
        self.click_row("parent-table", "demo.Main.main", 0)
        self.assertEqual(self.text("#self"), "demo.Main.main")
        self.assertEqual(sorted(self.rows("child-table")),
                         [["demo.Main.fib", "10", "300 ms", "800 ms"],
                          ["demo.Main.work", "2", "0", "0"]])


    def test_processors_busy_over_time(self):
        self.show("busy")
        self.assertEqual(self.text("#busy p"), "Processors busy over 10.0 s: up to 2.00 in 2.00 s")
        heights = self.run_js("[...document.querySelectorAll('#busy rect')].map((one) => +one.getAttribute('height'))")
        self.assertEqual(heights, [40, 10, 0, 20, 5])
        self.show("plain")
        self.assertTrue(self.run_js("document.getElementById('busy').hidden"))


if __name__ == "__main__":
    page.main()
