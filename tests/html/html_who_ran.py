"""Who really ran, in the page: of the ledger that make_ledger calls cascade, whose waits were followed on paper in
tests/cli/cli_blockers.py; and the same numbers as the JSON of `treadle report --view blockers`."""
import page

ALL = [["disk", "I/O", "115 ms", "96.0 ms", "self > disk"],  # 40 + 16 + 3.2 + 56; 40 + 56
       ["disk", "CPU", "28.8 ms", "24.0 ms", "self > disk"],  # 10 + 4 + 0.8 + 14; 10 + 14
       ["middle", "CPU", "24.0 ms", "24.0 ms", "first > middle"],  # 20 + 4
       ["self", "CPU", "10.0 ms", "10.0 ms", "late > self"],
       ["x", "cycle", "10.0 ms", "10.0 ms", "y > x"], ["y", "cycle", "10.0 ms", "10.0 ms", "x > y"],
       ["lost", "owner unknown", "5.00 ms", "5.00 ms", "lost"]]
KNOT = "cycle, 20.0 ms of waits for one another: x, y"
ENDS = ("treadle.views.locks.whoRan.ends.map(({thread, does, wait_ns, direct_ns}) => "
        "[thread, does, wait_ns, direct_ns])")


class WhoRan(page.Page):
    def open_locks(self, kind="cascade", options=()):
        self.browser.resize(1600, 1000)  # all rows are in sight
        self.show(kind, "#tab=locks", options=options)

    def ran(self, ledger, *options):
        """The report's rows, in its order."""
        return [[row[key] for key in ("thread", "does", "wait_ns", "direct_ns")]
                for row in self.json("report", ledger, "--view", "blockers", *options)["ran"]]

    def knots(self):
        return self.run_js("[...document.querySelectorAll('#knots li')].map((one) => one.textContent)")

    def cell_hint(self, table, text, column):
        return self.run_js(f"[...document.querySelectorAll('#{table} .row')].find((row) => "
                           f"row.innerText.includes('{text}')).children[{column}].title")

    def test_as_on_paper(self):
        self.open_locks()
        self.assertEqual(self.rows("ran-table"), ALL)
        self.assertEqual(self.text("#ran-chosen"), "Who really ran")
        self.assertEqual(self.knots(), [KNOT])
        self.assertEqual(self.cell_hint("ran-table", "I/O", 0), "disk, in app.Queue.take < app.Main.run")

    def test_as_in_the_report(self):
        """To the nanosecond, whichever waiters the page was made of; unfolded, as the report is."""
        for kind, options in ("cascade", ()), ("cascade", ("-t", "self")), ("locks", ()):
            self.open_locks(kind, options)
            if kind == "locks":
                self.browser.press("p")
            self.assertEqual(self.run_js(ENDS), self.ran(f"{kind}.ledger", *options))
        self.assertEqual(self.knots(), [])

    def test_pools(self):
        """pool-2 waited 1050 ms for main, pool-1 100 ms: locks_drawing.h."""
        self.open_locks("locks")
        main = ["main", "owner unknown", "3.00 s", "3.00 s", "main"]
        self.assertEqual(self.rows("ran-table"), [
            main, ["main", "unknown", "1.15 s", "1.15 s", "pool-# > main"],
            ["worker-#", "unknown", "5.00 ms", "5.00 ms", "worker-#"],
            ["pool-#", "owner unknown", "3.00 ms", "3.00 ms", "pool-#"]])
        self.browser.press("p")
        self.assertEqual(self.rows("ran-table")[:2], [main, ["main", "unknown", "1.15 s", "1.15 s", "pool-2 > main"]])

    def test_chains_through_a_thread(self):
        self.open_locks()
        self.click_row("ran-table", "middle", 0)
        through = [["disk", "I/O", "59.2 ms", "40.0 ms", "middle > disk"],  # 40 + 16 + 3.2
                   ["middle", "CPU", "24.0 ms", "24.0 ms", "first > middle"],
                   ["disk", "CPU", "14.8 ms", "10.0 ms", "middle > disk"]]  # 10 + 4 + 0.8
        self.assertEqual(self.rows("ran-table"), through)
        self.assertEqual(self.text("#ran-chosen"), "Who really ran in chains with middle")
        self.assertEqual(self.text("#blocks-chosen"), "Who waited for whom of middle")
        self.assertEqual(self.run_js("[...document.querySelectorAll('#ran-table .row[aria-selected=true]')].length"), 1)
        self.assertEqual(self.knots(), [])
        self.browser.click_on("#all-blocks")
        self.assertEqual(self.rows("ran-table"), ALL)
        self.click_row("ran-table", "late", 4)  # the chain's first one
        self.assertEqual(self.rows("ran-table"), [ALL[3]])

    def test_chains_that_begin_with_a_lock(self):
        """Their sum is what threads waited for app.Row: 13 ms."""
        self.open_locks()
        self.click_row("lock-table", "app.Row@3", 0)
        self.assertEqual(self.rows("ran-table"), [
            ["lost", "owner unknown", "5.00 ms", "5.00 ms", "lost"], ["middle", "CPU", "4.00 ms", "4.00 ms", "first > middle"],
            ["disk", "I/O", "3.20 ms", "0", "first > middle > disk"], ["disk", "CPU", "800 µs", "0", "first > middle > disk"]])
        self.assertEqual(self.text("#ran-chosen"), "Who really ran in waits for Row@3")
        self.assertEqual(self.cell_hint("ran-table", "I/O", 4), "first waits for middle over app.Row\n"
                         "middle waits for disk over app.Disk\ndisk: I/O")
        self.assertEqual(self.cell_hint("ran-table", "lost", 4), "lost waits for nobody knows whom over app.Row")
        self.assertEqual(self.knots(), [])
        self.click_row("lock-table", "app.X@4", 0)
        self.assertEqual(self.rows("ran-table"), [ALL[5]])
        self.assertEqual(self.cell_hint("ran-table", "cycle", 4), "x waits for y over app.X\n"
                         "y waits for a thread of this chain over app.Y")
        self.assertEqual(self.knots(), [KNOT])

    def test_a_knot_s_thread(self):
        self.open_locks()
        self.browser.click_on("#knots .thread:last-of-type")
        self.assertEqual(self.text("#ran-chosen"), "Who really ran in chains with y")
        self.assertEqual(self.rows("ran-table"), ALL[4:6])
        self.assertEqual(self.rows("edge-table"), [["x", "y", "app.X", "1", "10.0 ms"], ["y", "x", "app.Y", "1", "10.0 ms"]])
        self.assertEqual(self.knots(), [KNOT])

    def test_order(self):
        self.open_locks()
        for key, names in (("thread", "disk disk lost middle self x y"), ("thread", "y x self middle lost disk disk"),
                           ("direct_ns", "disk disk middle self x y lost"), ("does", "disk middle self x y disk lost")):
            self.browser.click_on(f"#ran-table .head [data-key={key}] button")
            self.assertEqual(" ".join(self.column("ran-table", 0)), names, key)
        self.assertEqual(self.run_js("document.querySelector('#ran-table [aria-sort]').dataset.key"), "does")


if __name__ == "__main__":
    page.main()
