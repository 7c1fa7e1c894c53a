"""Waits for locks in the page, of the ledger that make_ledger calls locks; the numbers are those of locks_drawing.h."""
import page

SEMAPHORE = "java.util.concurrent.Semaphore$NonfairSync"
EDGES = [["main", "(owner unknown)", SEMAPHORE, "2", "3.00 s"], ["pool-#", "main", "app.Queue", "16", "1.15 s"],
         ["worker-#", "worker-#", "app.Row", "1000", "5.00 ms"],
         ["pool-#", "(owner unknown)", "app.Queue", "1", "3.00 ms"]]


class Locks(page.Page):
    def setUp(self):
        super().setUp()
        self.show("locks", "#tab=locks")

    def names(self, side):
        """The graph's names, waiters or blockers, from the top."""
        return self.run_js("[...document.querySelectorAll('#blockers text')].filter((one) => "
                           f"one.getAttribute('text-anchor') === '{side}').map((one) => one.lastChild.textContent)")

    def test_tables(self):
        self.assertEqual(self.rows("lock-table"), [
            [f"{SEMAPHORE}@7b", "park", "2", "3.00 s", "2.00 s", "2.00 s", "0", "0", "0", "0", "500", "0", "2"],
            ["app.Queue@4d2", "monitor", "17", "1.15 s", "1.00 s", "1.00 s", "90.0 ms", "4", "200 ms", "90.0 ms", "-", "2", "1"],
            ["app.Row@*", "monitor", "1000", "5.00 ms", "8.00 µs", "1.00 ms", "4.00 ms", "0", "0", "0", "-", "-", "0"]])
        self.assertEqual(self.rows("edge-table"), EDGES)
        self.assertEqual(self.rows("lock-path-table")[:2],
                         [["app.Main.run", "waits", "3.00 s"], ["app.Queue.take < app.Main.run", "waits", "1.05 s"]])
        self.assertIn(["app.Queue.take < app.Main.run", "blocks", "90.0 ms"], self.rows("lock-path-table"))
        self.assertIn(["app.Queue.take < app.Main.run", "held", "200 ms"], self.rows("lock-path-table"))

    def test_what_is_missing(self):
        """1000 of 4000 waits, and 1234 holds."""
        self.assertEqual(self.run_js("[...document.querySelectorAll('#locks-missing li')].map((one) => "
                                     "one.textContent.replaceAll('\\u202f', ''))"),
                         ["25.0 % of all waits, for locks or not, are in none of these numbers: the budget had no room "
                          "for them (overhead=); those for locks are left out last", "at least 1234 holds that somebody had to wait for, not in Holds: no hook "
                          "told of the begin or of the end; what the budget had no room for is not counted"])
        self.show("cascade", "#tab=locks")
        self.assertTrue(self.run_js("document.querySelector('#locks-missing').hidden"))

    def test_graph(self):
        self.assertEqual(self.names("end"), ["main", "pool-#", "worker-#"])
        self.assertEqual(self.names("start"), ["(owner unknown)", "main", "worker-#"])
        widths = self.run_js("[...document.querySelectorAll('#blockers .wait')].map((one) => "
                             "Number(one.getAttribute('stroke-width')))")
        self.assertEqual(widths, [16, 6.1, 1, 1])  # 3, 1.15, 0.005 and 0.003 of 3 s

    def test_one_lock(self):
        self.browser.press("1")
        self.run_js("treadle.change({ tab: 'locks' })")
        self.click_row("lock-table", "app.Queue@4d2", 1)
        self.assertEqual(self.rows("edge-table"), [EDGES[1], EDGES[3]])
        self.assertEqual(self.text("#blocks-chosen"), "Who waited for whom for Queue@4d2")
        self.assertEqual([row[:2] for row in self.rows("lock-path-table")],
                         [["app.Queue.take < app.Main.run", "waits"], ["app.Queue.take < app.Main.run", "held"],
                          ["app.Queue.put < app.Main.run", "waits"], ["app.Queue.take < app.Main.run", "blocks"]])
        self.browser.click_on("#all-blocks")
        self.assertEqual(self.rows("edge-table"), EDGES)

    def test_a_chain_can_be_followed(self):
        """pool-# waited for main, which waited for the semaphore."""
        self.click_row("edge-table", "pool-#", 1)
        self.assertEqual(self.text("#blocks-chosen"), "Who waited for whom of main")
        self.assertEqual(self.rows("edge-table"), EDGES[:2])
        self.assertEqual(self.names("end"), ["main", "pool-#"])
        self.run_js("[...document.querySelectorAll('#blockers .thread')].find((one) => "
                    "one.lastChild.textContent === 'pool-#').dispatchEvent(new MouseEvent('click'))")
        self.assertEqual(self.rows("edge-table"), [EDGES[1], EDGES[3]])

    def test_threads_apart(self):
        self.browser.press("p")
        self.assertEqual([row[0] for row in self.rows("edge-table")], ["main", "pool-2", "pool-1", "worker-#", "pool-1"])

    def test_only_where_there_are_waits(self):
        self.assertFalse(self.run_js("document.querySelector('#tab-locks').hidden"))
        self.show("plain", "#tab=locks")
        self.assertTrue(self.run_js("document.querySelector('#tab-locks').hidden"))
        self.assertEqual(self.hash()["tab"], "threads")


if __name__ == "__main__":
    page.main()
