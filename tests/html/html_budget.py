"""The page of a run within a budget: the strips of budget and resolution, and which calls are so many at
least. The drawing is tests/cli/budget_drawing.h."""
import page

LINE = "document.querySelector('#{} .strip')"


class Budget(page.Page):
    def words(self, selector):
        return self.text(selector).replace("\u202f", " ")

    def widths(self, strip):
        """Of a strip's pieces, in thousandths of it."""
        return self.run_js(
            f"[...{LINE.format(strip)}.querySelectorAll('span')].map((piece) => [piece.className, "
            "Math.round(parseFloat(piece.style.width) * 10)])")

    def legend(self, strip):
        return self.words(f"#{strip} .legend").split("\n")

    def test_budget(self):
        self.show("budget")
        # Of 5 s, 2 % are 100 ms, and 75 of them were used.
        self.assertEqual(self.widths("budget"), [
            ["hooks", 400], ["samples", 200], ["own-threads", 100], ["classes", 40], ["jvm", 10],
            ["left", 250]])
        self.assertEqual(self.words("#budget .verdict"),
                         "Budget: 2.00 % asked, 1.50 % used; 2 of 5 methods silent (1 for now), "
                         "1 recorded again, 1 left out by the plan, 1 not hooked yet")
        self.assertEqual(self.legend("budget"), ["hooks 40.0 ms", "samples 20.0 ms", "threads 10.0 ms",
                                                 "class changes 4.00 ms", "JVM 1.00 ms"])
        self.assertEqual(self.run_js(f"{LINE.format('budget')}.firstChild.title"),
                         "hooks: 40.0 ms, 0.80 % of the process's CPU")
        self.assertFalse(self.run_js("document.querySelector('#budget .asked')"))

    def test_more_than_asked(self):
        # 1 % asked, 1.5 % used: the strip is what was used, the line stands at two thirds.
        self.show("budget_exceeded")
        self.assertEqual(self.widths("budget")[0], ["hooks", 533])
        self.assertEqual(self.run_js("Math.round(parseFloat(document.querySelector('#budget .asked')"
                                     ".style.left) * 10)"), 667)
        self.assertTrue(self.run_js("document.querySelector('#budget .verdict').classList.contains('large')"))

    def test_resolution(self):
        self.show("budget")
        # Of 1,698.32 ms: 0.32 in calls of 5 us, 50 in those of 50 us, 548 of 1 to 10 ms, 1,000, and 100.
        self.assertEqual(self.widths("resolution"), [
            ["step-0", 0], ["step-1", 29], ["step-3", 323], ["step-4", 589], ["outside", 59]])
        self.assertEqual(self.legend("resolution"), [
            "below 10.0 µs 0.02 %", "10.0 µs – 100 µs 2.94 %", "1.00 ms – 10.0 ms 32.3 %",
            "longer 58.9 %", "in none 5.89 %"])

    def test_nothing_to_show(self):
        self.show("plain")
        self.assertTrue(self.run_js("budget.hidden"))

    def test_calls_at_least(self):
        self.show("budget", "#tab=methods")
        rows = {row[0]: row[1] for row in self.rows("method-table")}
        self.assertEqual({name.split(".")[-1]: calls for name, calls in rows.items() if "Main" in name},
                         {"run": "101", "hot": "≥64", "warm": "≥1000", "muted": "≥48"})
        self.click_row("method-table", "app.Main.hot", 0)
        self.browser.drawn()
        self.assertIn("calls ≥64 · calls recorded 5.56 % of the time since 1.00 s, silent since 1.50 s",
                      self.words("#self-numbers"))
        # Its row among run's callees, and run's row among its callers, are of its calls.
        self.assertEqual(self.column("parent-table", 1), ["≥64"])
        titles = self.run_js("[...document.querySelectorAll('#method-table .row .name')].map((cell) => cell.title)")
        self.assertIn("app.Main.warm\ncalls recorded 21.1 % of the time since 500 ms", titles)
        self.run_js("treadle.change({ tab: 'threads' })")
        self.browser.drawn()
        self.assertEqual({row[1]: row[7] for row in self.rows("thread-table")},
                         {"main": "≥1212", "worker": "6", "GC": "0"})

    def test_counted_calls(self):
        self.show("counted_budget", "#tab=methods")
        self.assertIn("2 of 5 methods silent (1 counted), 1 recorded again", self.words("#budget .verdict"))
        rows = {row[0].split(".")[-1]: row[1] for row in self.rows("method-table")}
        self.assertEqual((rows["muted"], rows["hot"]), ("2000", "≥64"))
        self.click_row("method-table", "app.Main.muted", 0)
        self.browser.drawn()
        self.assertIn("calls 2 000 · calls recorded 12.5 % of the time since 2.00 s, silent since 3.00 s, "
                      "1 952 only counted", self.words("#self-numbers"))
        self.run_js("treadle.change({ threads: [0] })")
        self.browser.drawn()
        rows = {row[0].split(".")[-1]: row[1] for row in self.rows("method-table")}
        self.assertEqual(rows["muted"], "≥48")

    def test_tree_and_tooltip(self):
        self.show("budget", "#tab=tree&threads=0")
        self.run_js("treadle.views.tree.openBelow(0)")
        self.browser.drawn()
        rows = self.rows("tree-table")
        calls = {row[0].split(".")[-1]: row[6] for row in rows if row[6]}
        self.assertEqual(calls, {"run": "100", "hot": "≥64", "warm": "≥1000", "muted": "≥48"})
        self.run_js("treadle.change({ tab: 'flame', threads: [0] })")
        self.browser.drawn()
        # Of main's 698.32 ms run has the first 550.32, muted the next 48.
        self.browser.move(*self.frame_point(0.82, 1))
        self.browser.drawn()
        tooltip = self.words("#tooltip")
        self.assertIn("app.Main.muted", tooltip)
        self.assertIn("≥48", tooltip)
        self.assertIn("calls recorded 12.5 % of the time since 2.00 s, silent since 3.00 s", tooltip)


if __name__ == "__main__":
    page.main()
