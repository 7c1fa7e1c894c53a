"""The page of `treadle diff --html`: its numbers are those of `treadle diff --json`, whatever is more or
less is told without colour, and both widths show what the other one cannot."""
import json
import os

import page

MS = 1_000_000


class DiffPage(page.Page):
    def show_diff(self, hash="", kinds=("plain", "family"), number=0, options=()):
        for kind in kinds:
            self.make(kind, number=number)
        self.assertEqual(self.treadle("diff", *self.ledgers(kinds), "--html", "x.html", *options), "x.html\n")
        self.open_page(hash)

    @staticmethod
    def ledgers(kinds):
        return [f"{kind}.ledger" for kind in kinds]

    def open_page(self, hash=""):
        self.open_file("x.html", hash)

    def point_at(self, part, row):
        self.browser.move(*self.frame_point(part, row))
        return self.text("#tooltip")


class Flame(DiffPage):
    def test_tooltip_and_widths(self):
        """Of A main has 1100 ms, in it Main.main 1000, in it fib 800, in it fib 500; of B main has 100 ms,
        in it run 1."""
        self.show_diff("#tab=flame&threads=2&side=a")  # GC Thread#, helper, main, …
        names = self.run_js("treadle.ledger.threads.map((thread) => thread.label)")
        self.run_js(f"treadle.change({{ threads: [{names.index('main')}] }})")
        self.browser.drawn()
        self.assertIn("main — CPU cum 1.10 s → 100 ms: −1.00 s (−90.9 %)", self.focused())
        tooltip = self.point_at(0.3, 2)
        self.assertIn("demo.Main.fib", tooltip)
        self.assertIn("gone: only A has it.", tooltip)
        values = self.run_js("[...document.querySelectorAll('#tooltip dl > *')].map((one) => one.innerText)")
        self.assertEqual(values, ["", "A", "B", "change", "of A",
                                  "CPU cum", "800 ms", "0", "−800 ms", "−100.0 %",
                                  "CPU base", "300 ms", "0", "−300 ms", "−100.0 %",
                                  "calls", "10", "0", "−10", "−100.0 %"])
        self.run_js("document.getElementById('frames').focus()")
        self.browser.press("w")
        self.assertNotIn("side", self.hash())
        self.assertEqual(self.run_js("treadle.views.flame.plugin.max"), 100 * MS)
        tooltip = self.point_at(0.005, 1)
        self.assertIn("demo.Main.run", tooltip)
        self.assertIn("new: only B has it.", tooltip)
        self.assertRegex(tooltip, r"CPU cum\s+0\s+1\.00 ms\s+\+1\.00 ms")
        self.run_js("(side.value = 'a', side.dispatchEvent(new Event('change')))")
        self.browser.drawn()
        self.assertEqual(self.run_js("treadle.views.flame.plugin.max"), 1100 * MS)
        self.assertEqual(self.hash()["side"], "a")

    def test_marks_without_colour(self):
        """Six steps, each its own hatching; more and less have their own marks."""
        self.show_diff("#tab=flame&side=a&by=thread")
        frames = self.run_js(
            "(() => { const { tree, views } = treadle; const { paint } = views.flame.plugin; return "
            "Object.fromEntries(tree.children('cpu-a', 0).map((frame) => [tree.label(frame), "
            "[paint.pattern(tree, frame, false), paint.mark(tree, frame, 99), paint.mark(tree, frame, 9)]])); })()")
        # worker-# 2600 to 900 ms, main 1100 to 100 ms, GC Thread# 1000 to 70 ms; server is new.
        self.assertEqual(frames["worker-#"], ["less3", "−65.4 %", "−"])
        self.assertEqual(frames["main"], ["less3", "−90.9 %", "−"])
        self.assertEqual(frames["helper"], ["less3", "− gone", "−"])
        self.assertEqual(frames["server"], ["more3", "+ new", "+"])
        patterns = self.run_js("Object.keys(treadle.views.flame.plugin.renderEngine.patterns)")
        self.assertLessEqual({f"{what}{i}" for what in ("more", "less") for i in (1, 2, 3)}, set(patterns))
        self.assertEqual(self.text("#legend").split("\n")[0], "−far less")
        self.assertIn("+far more", self.text("#legend"))

    def test_what_did_not_change(self):
        self.show_diff("#tab=flame", kinds=("plain", "plain"))
        steps = self.run_js("(({ tree, views }) => [...new Set([...Array(tree.count).keys()].map((frame) => "
                            "views.flame.plugin.paint.pattern(tree, frame, false) || "
                            "views.flame.plugin.paint.mark(tree, frame, 99)))])(treadle)")
        self.assertEqual(steps, [""])
        self.assertIn("CPU cum 5.00 s → 5.00 s: 0 (0 %)", self.focused())

    def test_search_and_zoom(self):
        self.show_diff("#tab=flame&side=a&by=method")
        self.browser.press("/")
        self.browser.type("fib")
        self.assertEqual(self.text("#matches"), "20.0 % of CPU of A (1.00 s) in 3 frames")
        self.browser.press("Enter")
        self.assertIn("demo.Main.fib — CPU cum 800 ms → 0", self.focused())
        self.assertIn("zoom", self.hash())
        link = self.run_js("location.href")
        view = "[treadle.views.flame.engine.positionX, treadle.views.flame.engine.zoom, treadle.state.side]"
        before = self.run_js(view)
        self.browser.open("about:blank")
        self.browser.open(link)
        self.browser.drawn()
        self.assertEqual(self.run_js(view), before)

    def test_a_row_without_width_shows_the_other_side(self):
        self.show_diff("#tab=tree&by=method")
        self.click_row("tree-table", "demo.Main.work", 2)
        self.run_js("document.getElementById('tree-table').focus()")
        self.browser.press("Enter")
        self.assertEqual((self.hash()["tab"], self.hash()["side"]), ("flame", "a"))
        self.assertIn("demo.Main.work — CPU cum 2.55 s → 0", self.focused())


class Numbers(DiffPage):
    """Every node of every thread, against `treadle diff --json`."""

    NODES = """((metric) => { const { tree, ledger } = treadle;
        const of = (frame) => { const list = [];
            const both = (kind, name) => [tree[kind](`${name}-a`)[frame], tree[kind](`${name}-b`)[frame]];
            for (let child = tree.firstChild[frame]; child >= 0; child = tree.nextSibling[child])
                list.push(of(child));
            return [tree.kind[frame] ? ledger.methods[tree.method[frame]].full : tree.label(frame),
                    ...both("base", metric), ...both("cum", metric), ...both("base", "calls"),
                    tree.sides[frame], list.sort()]; };
        return tree.apart ? of(0)[8] : [of(0)]; })"""

    def node(self, node, name):
        both = [node[key][side] for key in ("base", "cum", "calls") for side in ("a", "b")]
        full = f"{node['class']}.{node['method']}" if node["class"] else node["method"]
        sides = {"both": 3, "gone": 1, "new": 2}[node["state"]]
        return [name or full, *both, sides, sorted(self.node(child, "") for child in node["children"])]

    def compare(self, kinds, metrics, *options):
        for metric in metrics:
            report = self.json("diff", *self.ledgers(kinds), "--view", "tree", "--metric", metric, *options)
            expected = sorted(self.node(thread["root"], thread["name"]) for thread in report["threads"]
                              if thread["root"])
            self.run_js("treadle.change({ tab: 'flame', apart: true })")
            shown = sorted(self.run_js(f"{self.NODES}('{metric}')"))
            self.assertEqual(json.loads(json.dumps(shown)), expected)

    def test_all_nodes(self):
        self.show_diff(kinds=("plain", "family"))
        self.compare(("plain", "family"), ("cpu", "wall", "calls"))

    def test_normalized(self):
        self.show_diff(kinds=("plain", "family"), options=("--normalize",))
        self.compare(("plain", "family"), ("cpu", "calls", "wall"), "--normalize")
        self.assertIn("A's values are scaled to B's totals", self.text("#command"))

    def test_forests(self):
        """Large random ones, one of them smaller: their nodes partly meet."""
        self.make("forest", number=3000)
        os.rename(self.path("forest.ledger"), self.path("small.ledger"))
        self.make("forest", number=2000)
        self.treadle("diff", "small.ledger", "forest.ledger", "--html", "x.html")
        self.open_page("#tab=flame")
        self.compare(("small", "forest"), ("cpu", "wall"))

    def test_metrics_are_those_of_both(self):
        self.show_diff("#tab=flame", kinds=("plain", "sampled"))
        names = self.run_js("[...metric.options].map((option) => option.value)")
        self.assertNotIn("samples", names)
        self.assertNotIn("waiting", names)
        self.assertEqual(names[:3], ["cpu", "wall", "calls"])
        self.show_diff("#tab=flame", kinds=("plain", "family"), options=("--metric", "wall"))
        self.assertEqual(self.run_js("metric.value"), "wall")


class Safety(DiffPage):
    def test_hostile_names(self):
        for kinds in (("markup", "hostile"), ("hostile", "markup"), ("hostile", "hostile")):
            self.show_diff(kinds=kinds)
            for tab in ("threads", "flame", "tree", "methods"):
                for side in ("a", "b"):
                    self.run_js(f"treadle.change({{ tab: '{tab}', side: '{side}' }})")
                    self.browser.drawn()
                    self.point_at(0.5, 1) if tab == "flame" else None
                    self.assertNotEqual(self.run_js("document.title"), "owned")
                    self.assertFalse(self.run_js("Boolean(document.getElementById('owned'))"))
                    self.assertNotRegex(self.run_js("document.body.innerText"), "[\u202e\u200b\x1b\x00]")
            self.assertEqual(self.browser.requests, [self.url])

    def test_nothing_in_the_file(self):
        self.show_diff(kinds=("markup", "plain"))
        with open(self.path("x.html"), encoding="ascii", errors="surrogateescape") as file:
            text = file.read()
        for name in ("owned", "__proto__", "demo.Main", "markup.ledger"):
            self.assertNotIn(name, text)

    def test_links_that_make_no_sense(self):
        self.show_diff()
        for link in ("#side=c&tab=flame", "#tab=flame&side=a&metric=waiting", "#tab=tree&zoom=n99999999",
                     "#tab=methods&side=&metric=__proto__"):
            self.open_page(link)
            self.assert_quiet()
            self.assertTrue(self.run_js("treadle.tree.count > 0"))

    def test_small_windows(self):
        self.addCleanup(self.browser.resize, 1280, 800)
        self.show_diff()
        self.browser.resize(400, 700)
        for tab in ("threads", "flame", "tree", "methods"):
            self.open_page(f"#tab={tab}")
            self.assertLessEqual(self.run_js("document.scrollingElement.scrollWidth"), 400)


if __name__ == "__main__":
    page.main()
