"""The tables of the page of `treadle diff --html`: threads, tree and methods, with A, B and what changed."""
import page
from html_diff import MS, DiffPage


class Tables(DiffPage):
    def test_threads(self):
        self.show_diff()
        rows = self.rows("thread-table")
        self.assertEqual([tuple(row[1:8]) for row in rows[:5]],
                         [("worker-#", "platform", "both", "1 → 3", "2.60 s", "900 ms", "−1.70 s"),
                          ("main", "platform", "both", "1 → 1", "1.10 s", "100 ms", "−1.00 s"),
                          ("GC Thread#", "vm", "both", "1 → 2", "1.00 s", "70.0 ms", "−930 ms"),
                          ("helper", "native", "gone", "1 → 0", "300 ms", "0", "−300 ms"),
                          ("server", "platform", "new", "0 → 1", "0", "50.0 ms", "+50.0 ms")])
        self.assertIn("A: plain.ledger (demo.Main --rounds 3) → B: family.ledger", self.text("#command"))
        self.run_js("document.querySelector('#thread-table [data-key=calls] button').click()")
        self.assertEqual(self.column("thread-table", 1)[0], "main")  # 103 to 1
        self.browser.click_on("#facts summary")
        self.assertIn("cpu of the threads shown", self.text("#facts pre"))

    def test_calls_are_so_many_at_least(self):
        """As of cli_diff.py's test of that name: in A main has 103 calls, in B 1,212, of which hot's 64 and others were
        not all recorded."""
        self.show_diff("#by=method", kinds=("plain", "budget"))
        self.assertIn("≥+1104 (≥+968.4 %)calls of the threads shown: 114 → ≥1218",
                      self.run_js("document.getElementById('summary').textContent").replace("\u202f", ""))
        rows = {row[1]: row[-3:] for row in self.rows("thread-table")}
        titles = self.run_js("[...document.querySelectorAll('#thread-table [data-key]')].map((one) => one.dataset.key)")
        self.assertEqual(titles[-3:], ["calls_a", "calls_b", "calls"])
        self.assertEqual(rows["main"], ["103", "≥1212", "≥+1109"])
        self.assertEqual(rows["worker"], ["0", "6", "+6"])
        self.run_js("treadle.change({ tab: 'methods' })")
        self.browser.drawn()
        rows = {row[0].split(".")[-1]: row[-1] for row in self.rows("method-table")}
        self.assertEqual({name: rows[name] for name in ("hot", "warm", "muted", "run", "fib")},
                         {"hot": "≥+64", "warm": "≥+1000", "muted": "≥+48", "run": "+101", "fib": "−107"})
        self.click_row("method-table", ".hot", 0)
        self.assertIn("calls 0 → ≥64: ≥+64", self.text("#self-numbers"))
        self.run_js("treadle.change({ tab: 'tree', side: 'b' })")
        self.browser.drawn()
        self.run_js("(({ tree, views }) => { views.tree.open = new Set(Array(tree.count).keys()); views.tree.list(); })"
                    "(treadle)")
        self.browser.drawn()
        rows = {row[0].split(".")[-1]: row for row in self.rows("tree-table")}
        self.assertIn("≥+64", rows["hot"])
        self.assertIn("+101", rows["run"])
        # Of both ledgers the same: more calls of either would change what changed.
        self.show_diff("#tab=flame&by=thread", kinds=("budget", "budget"))
        names = self.run_js("treadle.ledger.threads.map((thread) => thread.label)")
        self.run_js(f"treadle.change({{ threads: [{names.index('main')}] }})")
        self.browser.drawn()
        tooltip = self.point_at(0.82, 1)
        self.assertRegex(tooltip.replace("\n", " "), r"app\.Main\.muted.* calls ≥48 ≥48 \?0 \?0 %")

    def test_headline_in_process_time(self):
        """What the kernel says of both processes, not sums over threads: of wall time those say nothing."""
        self.make("kernel_total", name="a.ledger", number=4000)
        self.make("kernel_total", name="b.ledger", number=5000)
        self.treadle("diff", "a.ledger", "b.ledger", "--html", "x.html", "--metric", "minor_faults")
        self.open_page("")
        figures = self.run_js("[...document.querySelectorAll('#summary .figure')].map((one) => one.textContent)")
        # Both took 10 s and were there 500 ms before that; 114 calls and 14 * 321 faults are drawn in both.
        self.assertEqual(figures, ["+1.00 s (+25.0 %)CPU of the process: 4.00 s → 5.00 s",
                                   "0wall time of the process: 10.5 s → 10.5 s",
                                   "0calls of the threads shown: 114 → 114",
                                   "0min flt of the threads shown: 4\u202f494 → 4\u202f494"])

    def test_methods(self):
        self.show_diff("#tab=methods")
        rows = {row[0]: row[1:] for row in self.rows("method-table")}
        self.assertEqual(rows["demo.Main.work"], ["2.35 s", "0", "−2.35 s", "−2.55 s", "−6"])
        self.assertEqual(rows["demo.Main.run"], ["0", "12.0 ms", "+12.0 ms", "+12.0 ms", "+43"])
        self.assertEqual(self.column("method-table", 0)[0], "demo.Main.work")
        self.click_row("method-table", "fib", 0)
        self.assertIn("CPU base 1.00 s → 0: −1.00 s (−100.0 %)", self.text("#self-numbers"))
        self.assertEqual([row for row in self.rows("parent-table") if row[0] == "demo.Main.work"],
                         [["demo.Main.work", "200 ms", "0", "−200 ms", "−200 ms", "−7"]])

    def test_tree(self):
        self.show_diff("#tab=tree&by=thread")
        rows = self.rows("tree-table")
        self.assertEqual(rows[0][1:5], ["5.00 s", "1.16 s", "−3.84 s", "−76.7 %"])
        self.assertEqual(rows[1][:5], ["worker-#", "2.60 s", "900 ms", "−1.70 s", "−65.4 %"])
        gone = next(row for row in rows if row[0] == "demo.Main.work")
        self.assertEqual(gone[1:8], ["2.55 s", "0", "−2.55 s", "−100.0 %", "−2.35 s", "−4", "gone"])


    def test_errors_of_changes(self):
        """Of loop 10 of 20 samples of 200 ms are its own (0.2993 to 0.7007 of them: 40.14 ms off at most) and 15 are in
        its cum (0.5313 to 0.8881: 43.74 ms), in A and in B: a change has the root of both squares, 56.8 and 61.9 ms.
        work's cum was measured; 5 of 20 are its own (0.1119 to 0.4687: 43.7 ms), with the other thread's none."""
        self.show_diff("#tab=methods", kinds=("sampled", "sampled"))
        # Names are cut to the room there is.
        names = self.run_js("treadle.views.methods.rows.map(({ method }) => treadle.ledger.methods[method].full)")
        rows = {name.split("(")[0]: row[1:] for name, row in zip(names, self.rows("method-table"))}
        self.assertEqual(rows["demo.Inner.loop"], ["100 ms", "100 ms", "0", "56.8 ms", "0", "61.9 ms", "0"])
        self.assertEqual(rows["demo.Main.work"][3:6], ["61.9 ms", "0", ""])
        self.run_js("treadle.change({ method: treadle.ledger.methods.findIndex(({ full }) => full.includes('Inner.loop')) })")
        self.browser.drawn()
        (_, *caller), = self.rows("parent-table")
        self.assertEqual(caller, ["100 ms", "100 ms", "0", "56.8 ms", "0", "61.9 ms", "0"])
        self.show_diff("#tab=tree&by=method", kinds=("sampled", "sampled"))
        self.assertEqual(self.run_js("[...document.querySelectorAll('#tree-table .head > *')].map((one) => one.innerText)"),
                         ["Frame", "CPU cum A", "CPU cum B", "Δ cum", "±", "of A", "Δ base", "±", "Δ calls", "", "level"])
        # Nothing changed, so that no row is open: the frame's errors, in ms.
        errors = self.run_js("(({ tree, metric }) => { const errors = tree.changeErrors(metric); return "
                             "[...Array(tree.count).keys()].filter((frame) => tree.label(frame).includes('Inner.loop'))"
                             ".map((frame) => [errors[frame].cum, errors[frame].base]); })(treadle)")
        self.assertEqual([[round(error / MS, 1) for error in pair] for pair in errors], [[61.9, 56.8]])


if __name__ == "__main__":
    page.main()
