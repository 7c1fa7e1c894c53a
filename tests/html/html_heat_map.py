"""The heat map over time, of `treadle html A B C …`: the numbers are those written down in server_drawing.h."""

import page


class HeatMap(page.Page):
    def show_moments(self, hash="", numbers=(1, 2, 3, 4), options=()):
        names = [self.make("moment", name=f"m{number}.ledger", number=number) for number in numbers]
        self.treadle("html", *names, "-o", "x.html", *options)
        self.open_page(hash)

    def open_page(self, hash=""):
        self.open_file("x.html", hash)

    def choose(self, id, value):
        self.run_js(f"({id}.value = '{value}', {id}.dispatchEvent(new Event('change')))")
        self.browser.drawn()

    def test_threads_by_interval(self):
        """First to second moment: main 1 s, the pool's threads 100, 200, 300 ms, the collector 200: 1.8 s.
        Then the pool 200, 400, 600, late 500, the folded 60, the collector 200: 1.96 s. Then the pool 300,
        600, 900 and the collector 200: 2 s."""
        self.show_moments()
        self.assertEqual(self.hash()["tab"], "heat")
        self.assertEqual(self.rows("heat-table"),
                         [["all threads", "1.80 s", "1.96 s", "2.00 s"],
                          ["pool-#-thread-# ×3", "33.3 %", "61.2 %", "90.0 %"],
                          ["main", "55.6 %", "", ""],
                          ["GC Thread#0", "11.1 %", "10.2 %", "10.0 %"],
                          ["late", "", "25.5 %", ""],
                          ["short-# ×5", "", "3.06 %", ""]])
        heads = self.run_js("[...document.querySelectorAll('#heat-table .head > div')].map((one) => one.innerText)")
        self.assertEqual(heads[1:], ["10.5 s – 20.5 s", "20.5 s – 30.5 s", "30.5 s – 40.5 s"])

    def test_pools_folded_or_not(self):
        self.show_moments()
        self.browser.click_on("#fold-frames")
        names = self.column("heat-table", 0)
        self.assertEqual(names[1:3], ["pool-1-thread-3", "pool-1-thread-2"])  # 1.8 s, 1.2 s
        rows = {row[0]: row[1:] for row in self.rows("heat-table")}
        self.assertEqual(rows["pool-1-thread-2"], ["11.1 %", "20.4 %", "30.0 %"])
        self.browser.click_on("#fold-frames")
        self.click_row("heat-table", "pool-#", 0)
        self.assertEqual(self.column("heat-table", 0)[1:5],
                         ["pool-#-thread-# ×3", "pool-1-thread-3", "pool-1-thread-2", "pool-1-thread-1"])

    def test_methods_by_interval(self):
        self.show_moments()
        self.choose("rows", "methods")
        self.assertEqual(self.rows("heat-table"),
                         [["all methods", "1.80 s", "1.96 s", "2.00 s"],
                          ["demo.Main.work", "33.3 %", "86.7 %", "90.0 %"],
                          ["demo.Main.main", "55.6 %", "", ""],
                          ["(thread)", "11.1 %", "13.3 %", "10.0 %"]])

    def test_other_metrics_and_rates(self):
        self.show_moments()
        self.choose("cells", "rate")
        rows = {row[0]: row[1:] for row in self.rows("heat-table")}
        self.assertEqual(rows["late"], ["", "5.00 %", ""])  # 500 ms in 10 s
        self.assertEqual(rows["all threads"], ["18.0 %", "19.6 %", "20.0 %"])
        self.choose("metric", "calls")
        rows = {row[0]: row[1:] for row in self.rows("heat-table")}
        self.assertEqual(rows["late"], ["", "5", ""])  # 50 calls in 10 s
        self.choose("cells", "share")
        self.assertEqual(self.rows("heat-table")[0], ["all threads", "60", "170", "180"])

    def test_click_on_a_cell(self):
        self.show_moments()
        self.click_row("heat-table", "pool-#", 2)
        self.assertEqual((self.hash()["tab"], self.hash()["interval"]), ("flame", "2"))
        self.assertIn("pool-#-thread-# ×3 — CPU cum 1.20 s", self.focused())
        self.browser.press("ArrowDown")
        self.assertIn("demo.Main.work — CPU cum 1.20 s", self.focused())
        self.assertIn("calls 120 · cum a call 10.0 ms", self.focused())
        link = self.run_js("location.href")
        self.browser.open("about:blank")
        self.browser.open(link)
        self.browser.drawn()
        self.assertIn("CPU cum 1.20 s", self.focused())
        self.browser.press("3")
        self.assertEqual(self.rows("tree-table")[1][:5], ["demo.Main.work", "1.20 s", "100.0 %", "1.20 s", "120"])
        self.choose("interval", "-1")  # the whole run: 600, 1200, 1800 ms
        self.assertEqual(self.rows("tree-table")[0][:2], ["pool-#-thread-# ×3", "3.60 s"])

    def test_click_on_a_method(self):
        self.show_moments("#tab=heat&rows=methods")
        self.click_row("heat-table", "demo.Main.work", 2)
        self.assertEqual(self.hash()["tab"], "flame")
        self.assertEqual(self.text("#matches").split(" in ")[0].split(" of ")[0], "86.7 %")

    def test_keys_alone(self):
        self.show_moments()
        self.browser.press("1")
        self.browser.press("5")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "Enter"):
            self.browser.press(key)
        self.assertEqual((self.hash()["tab"], self.hash()["interval"]), ("flame", "1"))
        self.assertIn("main — CPU cum 1.00 s", self.focused())

    def test_sums_are_those_of_the_ledgers(self):
        """Of every column and thread the intervals add up to the last less the first."""
        self.show_moments()
        sums = self.run_js("treadle.ledger.intervals.flatMap(({ number }) => "
                           "treadle.ledger.sumsOfThreads(`wall@${number}`)).reduce((a, b) => a + b, 0)")
        totals = [sum(thread["wall_ns"] for thread in self.tree_sums(f"m{n}.ledger")) for n in (1, 4)]
        self.assertEqual(sums, totals[1] - totals[0])

    def tree_sums(self, ledger):
        trees = self.json("report", ledger, "--view", "tree", "--metric", "wall")["threads"]
        return [{"wall_ns": thread["root"]["cum"]["wall_ns"]} for thread in trees if thread["root"]]

    def test_only_some_threads(self):
        self.show_moments(options=("--thread", "pool-*"))
        self.assertEqual(self.column("heat-table", 0), ["all threads", "pool-#-thread-# ×3"])
        self.assertEqual(self.rows("heat-table")[0][1:], ["600 ms", "1.20 s", "1.80 s"])

    def test_without_snapshots_there_is_none(self):
        self.show("plain")
        self.assertTrue(self.run_js("document.getElementById('tab-heat').hidden"))
        self.browser.press("5")
        self.assertEqual(self.hash()["tab"], "threads")

    def test_nonsense(self):
        for link in ("#tab=heat&interval=9&rows=x&cells=y", "#tab=flame&interval=0", "#interval=1e3&tab=tree",
                     "#tab=heat&metric=waiting", "#tab=methods&interval=3", "#opened=99,1&tab=heat"):
            self.show_moments(link)
            self.assert_quiet()
            self.assertTrue(self.run_js("treadle.tree.count > 0"))

    def test_small_windows(self):
        self.addCleanup(self.browser.resize, 1280, 800)
        self.browser.resize(400, 700)
        self.show_moments()
        self.assertLessEqual(self.run_js("document.scrollingElement.scrollWidth"), 400)


if __name__ == "__main__":
    page.main()
