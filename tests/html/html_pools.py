"""Threads whose names differ in digits only are a pool: one row and one frame, until a switch says otherwise;
and the names of a large server can be told apart."""
import page

MS = 1_000_000
SERVER = 60  # threads: main and six pools, see server_drawing.h


class Pools(page.Page):
    """Of the family: three workers of 900 ms together, two helpers of 30, two collectors of 70."""

    def values(self, column=4):
        return [(row[1], row[2], row[column]) for row in self.rows("thread-table")]

    def test_pools_folded(self):
        self.show("family")
        self.assertEqual(self.values(), [
            ("worker-# ×3", "platform", "900 ms"), ("main", "platform", "100 ms"), ("GC Thread# ×2", "vm", "70.0 ms"),
            ("server", "platform", "50.0 ms"), ("helper-# ×2", "platform", "30.0 ms"),
            ("worker-9", "virtual", "7.00 ms"), ("task", "virtual", "5.00 ms"), ("worker-x", "platform", "1.00 ms")])
        self.assertIn("12 threads, 3 pools folded", self.text("#thread-count"))

    def test_rows_are_those_of_the_report(self):
        for kind, number in ("family", 0), ("pool", 0), ("hostile", 0), ("server", SERVER), ("chain", 30):
            self.show(kind, number=number)
            rows = self.run_js("treadle.views.threads.rows.map(({ threads, values }) => "
                               "[treadle.ledger.pools[threads[0].pool].threads.length, values[0], values[3]])")
            report = self.json("report", f"{kind}.ledger", "--fold")["threads"]
            self.assertEqual(sorted(map(tuple, rows)),
                             sorted((row["count"], row["cpu_ns"], row["calls"]) for row in report), kind)

    def test_switch(self):
        self.show("family")
        self.browser.click_on("#fold")
        self.assertEqual(len(self.rows("thread-table")), 12)
        self.assertEqual(self.hash()["pools"], "open")
        self.browser.press("p")
        self.assertEqual(len(self.rows("thread-table")), 8)
        self.assertNotIn("pools", self.hash())
        self.show("plain")
        self.assertTrue(self.run_js("document.getElementById('fold-label').hidden"))

    def test_open_one(self):
        self.show("family")
        self.click_row("thread-table", "worker-#", 1)  # on its mark
        self.assertEqual([(name, cpu) for name, _, cpu in self.values()[:5]],
                         [("worker-# ×3", "900 ms"), ("worker-3", "400 ms"), ("worker-2", "300 ms"),
                          ("worker-1", "200 ms"), ("main", "100 ms")])
        link = self.run_js("(treadle.address(), location.href)")
        self.browser.open("about:blank")
        self.browser.open(link)
        self.browser.drawn()
        self.assertEqual(self.values()[1][0], "worker-3")
        self.run_js("document.getElementById('thread-table').focus()")
        for key, rows in ("ArrowLeft", 8), ("ArrowRight", 11), ("ArrowRight", 11), ("ArrowLeft", 11), ("ArrowLeft", 8):
            self.browser.press(key)
            self.assertEqual(len(self.rows("thread-table")), rows, key)

    def test_pool_in_the_flame_graph(self):
        self.show("family", "#tab=flame")
        frames = "treadle.tree.children('cpu', 0).map((frame) => [treadle.tree.label(frame), treadle.tree.cum('cpu')[frame]])"
        self.assertEqual(self.run_js(frames)[:3],
                         [["worker-# ×3", 900 * MS], ["main", 100 * MS], ["GC Thread# ×2", 70 * MS]])
        # A pool's threads are one frame with one call tree: the root, 8 pools, and run of each.
        self.assertEqual(self.run_js("treadle.tree.count"), 1 + 8 + 8)
        self.browser.click_on("#fold-frames")
        self.assertEqual(self.run_js(frames)[0], ["worker-3", 400 * MS])
        self.assertEqual(self.run_js("treadle.tree.count"), 1 + 12 + 12)

    def test_pool_is_chosen_as_one(self):
        self.show("family")
        self.run_js("document.getElementById('thread-table').focus()")
        self.browser.press(" ")
        self.assertEqual(self.run_js("treadle.tree.cum('cpu')[0]"), 900 * MS)
        self.browser.press("Enter")
        self.assertEqual(self.text("#chosen"), "Pool worker-# ×3")
        self.assertIn("worker-# ×3 — CPU cum 900 ms", self.focused())

    def test_threads_of_a_large_server_legible(self):
        """Cut in the middle: what tells them apart stays. No cell is wider than its column."""
        self.show("server", "#pools=open", number=SERVER)
        names = self.column("thread-table", 1)
        self.assertGreater(len(names), 10)
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(any(name.startswith("ActiveMQ Ses") and "…" in name for name in names))
        wide = self.run_js("[...document.querySelectorAll('#thread-table .row > .name')]"
                           ".filter((cell) => cell.scrollWidth > cell.clientWidth).length")
        self.assertEqual(wide, 0)
        before = self.run_js("document.querySelector('#thread-table .row > .name').getBoundingClientRect().x")
        self.run_js("void (document.getElementById('thread-table').scrollLeft = 300)")
        self.browser.drawn()
        after = self.run_js("document.querySelector('#thread-table .row > .name').getBoundingClientRect().x")
        self.assertEqual(after, before)

    def test_frames_of_many_pools(self):
        """Folded, a server's threads are few enough for a frame each."""
        self.show("server", "#tab=flame", number=600)
        self.assertTrue(self.run_js("treadle.state.apart"))
        self.assertEqual(self.run_js("treadle.tree.children('cpu', 0).length"), 7)


if __name__ == "__main__":
    page.main()
