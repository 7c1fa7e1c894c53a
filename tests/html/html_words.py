"""The page speaks its users' words: what a frame is, what a thread does; and says what was lost before it
shows a number."""
import page


class Words(page.Page):
    def legend(self):
        return self.run_js("[...document.querySelectorAll('#legend li')].map((item) => item.lastChild.textContent)")

    def test_legend_in_users_words(self):
        self.show("sampled", "#tab=flame")
        self.assertEqual(self.legend(), ["exact", "sampled", "native", "kernel"])
        self.show("plain", "#tab=flame")
        self.assertEqual(self.legend(), ["exact", "between threads"])
        self.browser.press("?")
        self.assertIn("K kernel", self.text("#help"))
        self.browser.press("Escape")

    def test_gap_is_between_threads(self):
        self.show("plain", "#tab=tree&threads=1")
        titles = self.run_js("[...document.querySelectorAll('#tree-table .row .frame')].map((cell) => cell.title)")
        self.assertIn("(between Java threads)\nbetween threads", titles)

    def test_state_alive(self):
        self.show("plain")
        states = {row[1]: row[3] for row in self.rows("thread-table")}
        self.assertEqual(states, {"main": "ended", "worker-1": "alive", "GC Thread#0": "alive", "helper": "alive"})
        self.show("pool")
        states = {row[1]: row[3] for row in self.rows("thread-table")}
        self.assertEqual(states, {"pool-#-thread-# ×12": "3 alive", "alone-1": "alive"})
        self.assertNotIn("running", self.run_js("document.documentElement.innerText"))

    def test_folded_contexts_are_no_method(self):
        """Their frames have a letter, a hatch of their own and a word in the legend."""
        self.show("folded", number=1)
        self.assertIn("folded", self.legend())
        self.assertEqual(self.run_js("document.querySelectorAll('#legend .sample.folded').length"), 1)
        self.assertEqual(self.run_js("getComputedStyle(document.querySelector('#legend .sample.folded')).backgroundImage"
                                     ".startsWith('repeating-linear-gradient')"), True)
        self.show("folded", number=0)
        self.assertNotIn("folded", self.legend())

    def test_losses_in_sight(self):
        self.show("losses")
        for tab in ("threads", "flame", "tree", "methods"):
            self.run_js(f"treadle.change({{ tab: '{tab}' }})")
            self.browser.drawn()
            lines = self.text("#losses").replace("\u202f", " ").split("\n")
            self.assertEqual(lines, ["12 345 calls not recorded, their cost is charged to the caller",
                                     "2 threads not recorded", "3 metric values not charged to a method",
                                     "4 exits that did not match the current method",
                                     "the ledger reached max-mem (64.0 MiB): raise it, or include fewer methods",
                                     "5 positions corrected: samples found threads elsewhere"])
            box = self.run_js("(({top, bottom}) => [top, bottom])(losses.getBoundingClientRect())")
            self.assertTrue(0 < box[0] < box[1] < 400, box)
        self.show("sampled")
        self.assertEqual(self.text("#losses"), "3 samples dropped: there was no room for them\n"
                         "2 samples of kernel threads that have no row")
        self.show("plain")
        self.assertTrue(self.run_js("losses.hidden"))

    def test_losses_of_both_sides(self):
        self.make("plain")
        self.make("losses")
        self.treadle("diff", "plain.ledger", "losses.ledger", "--html", "x.html")
        self.browser.open(f"file://{self.path('x.html')}")
        self.browser.drawn()
        self.assertIn("B: 2 threads not recorded", self.text("#losses"))


if __name__ == "__main__":
    page.main()
