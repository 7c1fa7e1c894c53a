"""The page's view of latencies: the numbers are those of latency_drawing.h, as cli_latency.py has them."""

import page

HEADS = ["Method", "distribution", "calls", "P50", "P90", "P99", "P99.9", "longest", "jitter", "CPU P99"]


class Latency(page.Page):
    def heads(self):
        return self.run_js("[...document.querySelectorAll('#latency-table .head > div')].map((one) => one.innerText)")

    def drawn(self, id):
        return self.run_js(f"document.querySelectorAll('#{id} rect').length")

    def test_rows(self):
        self.show("latency", "#tab=latency")
        self.assertEqual(self.hash()["tab"], "latency")
        self.assertEqual([head.lower() for head in self.heads()], [head.lower() for head in HEADS])
        self.assertEqual(self.rows("latency-table"),
                         [["app.Shop.serve", "", "1000", "999 µs", "999 µs", "4.00 ms", "29.9 ms", "30.0 ms",
                           "29.0 µs", "100 µs"],
                          ["app.Shop.look", "", "10", "100 ns", "100 ns", "100 ns", "100 ns", "100 ns", "0", "100 ns"]])

    def test_drawings(self):
        """Of serve there are three bars, 1, 4 and 30 ms, and one of its CPU time; of look one."""
        self.show("latency", "#tab=latency")
        bars = self.run_js("[...document.querySelectorAll('#latency-table .row:not([hidden])')]"
                           ".map((row) => row.querySelectorAll('rect').length)")
        self.assertEqual(bars, [3, 1])
        self.assertEqual((self.drawn("latency-elapsed"), self.drawn("latency-cpu")), (3, 1))
        marks = self.text("#latency-elapsed")
        for words in ("P50 999 µs", "P99 4.00 ms", "P99.9 29.9 ms", "longest 30.0 ms", "1.00 ms"):
            self.assertIn(words, marks)
        self.assertIn("1\u202f000 calls, mean 1.43 ms, jitter from call to call 29.0 µs", self.text("#latency-note"))
        self.assertIn("2 more (0.20 %) have no end here", self.text("#latency-note"))
        places = self.run_js("[...document.querySelectorAll('#latency-elapsed rect')].map((one) => +one.getAttribute('x'))")
        self.assertEqual(places, sorted(places))
        self.assertEqual(len(set(places)), 3)

    def test_another_row(self):
        self.show("latency", "#tab=latency")
        self.click_row("latency-table", "app.Shop.look", 0)
        self.assertEqual(self.text("#latency-name"), "app.Shop.look")
        self.assertEqual(self.drawn("latency-elapsed"), 1)
        self.assertIn("of the time since", self.text("#latency-note"))

    def test_sort_and_keys(self):
        self.show("latency")
        self.browser.press("5")
        self.assertEqual(self.hash()["tab"], "latency")
        self.browser.click_on("#latency-table .head > div:first-child button")
        self.assertEqual(self.column("latency-table", 0), ["app.Shop.look", "app.Shop.serve"])
        self.assert_quiet()

    def test_without_latencies_there_is_none(self):
        self.show("plain", "#tab=latency")
        self.assertTrue(self.run_js("document.getElementById('tab-latency').hidden"))
        self.assertEqual(self.hash().get("tab", "threads"), "threads")

    def test_small_windows(self):
        self.addCleanup(self.browser.resize, 1280, 800)
        self.browser.resize(400, 700)
        self.show("latency", "#tab=latency")
        self.assertLessEqual(self.run_js("document.scrollingElement.scrollWidth"), 400)


if __name__ == "__main__":
    page.main()
