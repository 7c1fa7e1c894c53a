"""The page of `treadle timeline --html`. The files of events are drawn by tests/cli/cli_timeline.py's means; slices,
arrows and what is in sight are worked out by hand from them."""
import os

import page
from cli_timeline import (BLOCK_MONITOR, BLOCK_PARK, GC, IO, MONITOR, MS, OBJECT_WAIT, PARK, PLATFORM, REASON, SLEEP,
                          VIRTUAL, VM, WAITED, Drawing, struct)

US = 1000
ALL = ("Object.fromEntries(treadle.model.threads.map((thread) => [thread.name, thread.lanes.flatMap(({ ids }, depth) => "
       "[...ids].map((id) => (({ slices, labels }) => [depth, labels[slices.label[id]], slices.kind[id], "
       "slices.begin[id], slices.end[id] - slices.begin[id], slices.flags[id]])(treadle.model)))]))")
WAIT_KIND, CALL_KIND, PAUSE_KIND = 0, 1, 2
BEGAN_BEFORE, GOES_ON, PREEMPTED = 1, 2, 4


class TimelinePage(page.Page):
    def show_timeline(self, drawing, *options, **how):
        with open(self.path("x.timeline"), "wb") as file:
            file.write(drawing.octets(**how))
        said = self.treadle("timeline", "x.timeline", "--html", "x.html", *options)
        self.open_file("x.html")
        return said

    def range(self):
        return self.run_js("[treadle.view.from, treadle.view.span]")

    def box(self):
        """Of the chart without the names: left, top of the window, width."""
        return self.run_js("(({ x, y }) => [x + treadle.view.labels, y, treadle.view.room])"
                           "(document.querySelector('#chart').getBoundingClientRect())")

    def point(self, row, part, of_width):
        """In the row of that name, in its part-th lane, at that part of the width."""
        left, top, width = self.box()
        y = self.run_js(f"(({{ y, height }}) => y + height / 2)(treadle.view.rows.find(({{ name }}) => name === '{row}')"
                        f".parts[{part}]) - treadle.view.box.scrollTop")
        return left + of_width * width, top + y

    def tooltip(self):
        return self.run_js("(({ hidden, innerText }) => hidden ? '' : innerText)(document.querySelector('#tooltip'))")


def locks():
    """a has the lock until 10, b gets it then and c at 20; d parks for a lock of c."""
    drawing = Drawing()
    a, b, c, d = threads = [(i, 100 + i, PLATFORM) for i in range(1, 5)]
    for thread, name in zip(threads, "abcd"):
        drawing.name(1, thread, name)
    drawing.wait(2, 10, b, MONITOR, (0x55, BLOCK_MONITOR), a)
    drawing.wait(3, 20, c, MONITOR, (0x55, BLOCK_MONITOR), a)
    drawing.wait(30, 40, d, PARK, (0x66, BLOCK_PARK), c)
    return drawing


class Model(TimelinePage):
    def test_slices(self):
        drawing, main, other = Drawing(), (1, 10, PLATFORM), (9, 11, VIRTUAL)
        drawing.name(1, main, "main")
        drawing.wait(1, 5, main, SLEEP)
        drawing.wait(7, 8, main, PARK)
        drawing.call(0.5, 9, main)
        drawing.call(6, 8.5, main)
        drawing.add(WAITED, 20, other, REASON + IO)
        drawing.wait(30, None, other, OBJECT_WAIT)
        drawing.add(GC, 50, (0, 12, VM), payload=struct.pack("<QI", 3 * MS, 0))
        said = self.show_timeline(drawing)
        self.assertEqual(self.run_js(ALL), {
            "main": [[0, "(method not known)", CALL_KIND, 0.5 * MS, 8.5 * MS, 0],
                     [1, "sleep", WAIT_KIND, 1 * MS, 4 * MS, 0],
                     [1, "(method not known)", CALL_KIND, 6 * MS, 2.5 * MS, 0],
                     [2, "park", WAIT_KIND, 7 * MS, 1 * MS, 0]],
            "VirtualThread[#9]": [[0, "io", WAIT_KIND, 0, 20 * MS, BEGAN_BEFORE],
                                  [0, "object wait", WAIT_KIND, 30 * MS, 70 * MS, GOES_ON]],
            "thread 12": [[0, "garbage collection", PAUSE_KIND, 47 * MS, 3 * MS, 0]]})
        # main was in a call; of the others, the virtual thread has more slices.
        self.assertEqual(self.run_js("treadle.view.rows.map(({ name }) => name)"), ["main", "VirtualThread[#9]", "thread 12"])
        lines = [line.strip() for line in said.split("\n")]
        self.assertEqual(self.text("#command"), lines[0])
        self.assertEqual(self.text("#contents"), lines[1])
        lacks = self.text("#lacks").split("\n")
        self.assertEqual(lacks, [line for line in lines[2:] if line and line != "x.html"])
        self.assertEqual(lacks[-1], "did not fit: 0 records of switches, 0 events of the agent")
        self.assertFalse(self.run_js("document.querySelector('#lacks').classList.contains('lost')"))

    def test_runs(self):
        drawing = Drawing(lanes=2)
        drawing.name(1, (1, 10, PLATFORM), "main")
        drawing.run(None, 4, 10, 0)
        drawing.run(6, 8, 10, 1, preempted=True)
        drawing.run(8, 12, 11, 1)
        drawing.run(90, None, 11, 0)
        self.show_timeline(drawing)
        lane = ("(({ slices, ids }) => [...ids].map((id) => [treadle.model.threads[slices.thread[id]].name, "
                "slices.place[id], slices.begin[id], slices.end[id], slices.flags[id]]))")
        self.assertEqual(self.run_js(f"treadle.model.processors.map(({{ number, lanes }}) => [number, {lane}(lanes[0])])"), [
            [0, [["main", 0, 0, 4 * MS, BEGAN_BEFORE], ["thread 11", 0, 90 * MS, 100 * MS, GOES_ON]]],
            [1, [["main", 1, 6 * MS, 8 * MS, PREEMPTED], ["thread 11", 1, 8 * MS, 12 * MS, 0]]]])
        self.assertEqual(self.run_js(f"treadle.model.order.map(({{ name, busy, runs }}) => [name, busy, {lane}(runs)])"), [
            ["thread 11", 14 * MS, [["thread 11", 1, 8 * MS, 12 * MS, 0], ["thread 11", 0, 90 * MS, 100 * MS, GOES_ON]]],
            ["main", 6 * MS, [["main", 0, 0, 4 * MS, BEGAN_BEFORE], ["main", 1, 6 * MS, 8 * MS, PREEMPTED]]]])
        self.browser.move(*self.point("processor 1", 0, 0.07))
        self.assertIn("main", self.tooltip())
        self.assertIn("preempted", self.tooltip())

    def test_arrows(self):
        said = self.show_timeline(locks())
        self.assertIn("3 arrows", said)
        self.assertEqual(self.run_js("(({ arrows, threads }) => [...arrows.at].map((at, i) => "
                                     "[threads[arrows.from[i]].name, threads[arrows.to[i]].name, at]))(treadle.model)"),
                         [["a", "b", 10 * MS], ["b", "c", 20 * MS], ["c", "d", 40 * MS]])
        draws = self.run_js("treadle.view.draws")
        self.browser.press("r")
        self.assertEqual(self.run_js("treadle.view.draws"), draws - 3)

    def test_what_did_not_fit(self):
        """Sixteen of forty events are there, and of one wait only the end."""
        drawing, main = Drawing(lane_events=16), (1, 10, PLATFORM)
        for i in range(19):
            drawing.wait(i, i + 0.5, main, SLEEP)
        drawing.add(WAITED, 30, (2, 11, PLATFORM), REASON + SLEEP)
        drawing.name(31, main, "main")
        self.show_timeline(drawing)
        self.assertIn("24 events of the agent", self.text("#lacks"))
        self.assertIn("1 waits or runs are left out", self.text("#lacks"))
        self.assertTrue(self.run_js("document.querySelector('#lacks').classList.contains('lost')"))
        self.assertEqual([slice[3] for slice in self.run_js(ALL)["main"]], [i * MS for i in range(12, 19)])

    def test_nothing(self):
        self.show_timeline(Drawing())
        self.assertEqual(self.run_js("treadle.view.rows.length"), 0)
        for key in ("+", "ArrowDown", "Enter", "Home"):
            self.browser.press(key)


class Range(TimelinePage):
    def test_keys(self):
        """Of 100 ms: halves and quarters."""
        self.show_timeline(locks())
        self.run_js("document.querySelector('#chart').focus()")
        for key, its in (("+", (25, 50)), ("ArrowRight", (37.5, 50)), ("ArrowRight", (50, 50)), ("ArrowRight", (50, 50)),
                         ("w", (62.5, 25)), ("ArrowLeft", (56.25, 25)), ("a", (50, 25)), ("d", (56.25, 25)),
                         ("s", (43.75, 50)), ("-", (0, 100)), ("-", (0, 100)), ("+", (25, 50)), ("Home", (0, 100))):
            self.browser.press(key)
            self.assertEqual(self.range(), [its[0] * MS, its[1] * MS], key)

    def test_to_a_microsecond(self):
        self.show_timeline(locks())
        for _ in range(18):
            self.browser.press("+")
        self.assertEqual(self.range(), [50 * MS - US / 2, US])
        self.assertIn("1.00 µs", self.text("#range"))
        self.assertIn("49.999500 ms to 50.000500 ms", self.text("#range"))

    def test_wheel_and_drag(self):
        """The moment below the pointer stays there: 25 ms at a quarter of the width."""
        self.show_timeline(locks())
        left, top, width = self.box()
        x = left + width / 4
        self.browser.wheel(x, top + 60, -200)
        start, span = self.range()
        self.assertEqual(span, 50 * MS)
        self.assertAlmostEqual(start / MS, 12.5, delta=0.1)  # a pointer is at whole pixels
        self.browser.wheel(x, top + 60, 200)
        self.assertEqual(self.range(), [0, 100 * MS])
        self.browser.press("+")
        for kind, x in (("mousePressed", left + width / 2), ("mouseMoved", left + width / 4),
                        ("mouseReleased", left + width / 4)):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=top + 60, button="left", buttons=1, clickCount=1)
        self.browser.drawn()
        start, span = self.range()
        self.assertEqual(span, 50 * MS)
        self.assertAlmostEqual(start / MS, 37.5, delta=0.2)
        self.assertIsNone(self.run_js("treadle.view.chosen"))

    def test_axis(self):
        self.show_timeline(locks())
        texts = ("(() => { const { context } = treadle.view, texts = []; const fill = context.fillText; "
                 "context.fillText = (...all) => texts.push(all[0]); treadle.view.draw(); context.fillText = fill; "
                 "return texts.filter((text) => / [µm]?s$/.test(text)); })()")
        self.assertEqual(self.run_js(texts), ["20 ms", "40 ms", "60 ms", "80 ms"])
        self.run_js("treadle.view.setRange(50e6, 1000)")
        self.assertEqual(self.run_js(texts), ["50.0000 ms", "50.0002 ms", "50.0004 ms", "50.0006 ms", "50.0008 ms"])


class Slices(TimelinePage):
    WAIT_OF_C = {"thread": "c", "what": "wait: monitor", "lock": "@55", "owner at the begin": "a", "released by": "b",
                 "begin": "3 ms", "length": "17.0 ms", "end": "20 ms"}

    def facts(self):
        return self.run_js("Object.fromEntries([...document.querySelectorAll('#tooltip dt')].map((one) => "
                           "[one.textContent, one.nextSibling.textContent]))")

    def test_tooltip(self):
        self.show_timeline(locks())
        self.browser.move(*self.point("c", 0, 0.15))
        self.assertEqual(self.text("#tooltip strong"), "monitor")
        self.assertEqual(self.facts(), self.WAIT_OF_C)
        self.browser.move(*self.point("c", 0, 0.5))
        self.assertEqual(self.tooltip(), "")

    def test_click(self):
        self.show_timeline(locks())
        self.assertIn("Click a slice", self.text("#slice"))
        self.browser.click(*self.point("c", 0, 0.15))
        line = "monitor · " + " · ".join(f"{what} {value}" for what, value in self.WAIT_OF_C.items())
        self.assertEqual(self.text("#slice"), line)
        self.browser.move(*self.point("b", 0, 0.5))
        self.assertEqual(self.text("#slice"), line)
        self.browser.press("Enter")  # its middle is 11.5 ms, its length twice in sight: 34 ms from -5.5 ms on
        self.assertEqual(self.range(), [0, 34 * MS])
        self.browser.press("Escape")
        self.assertIn("Click a slice", self.text("#slice"))

    def test_keys(self):
        """All have one slice; who has no slice is passed over."""
        drawing = locks()
        drawing.wait(60, 61, (4, 104, PLATFORM), SLEEP)
        self.show_timeline(drawing)
        self.run_js("document.querySelector('#chart').focus()")
        self.assertEqual(self.run_js("treadle.view.rows.map(({ name }) => name)"), ["d", "b", "c", "a"])
        seen = []
        for key in ("ArrowDown", ",", ",", ".", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
            self.browser.press(key)
            seen.append((self.facts()["thread"], self.facts()["begin"]))
        self.assertEqual(seen, [("d", "60 ms"), ("d", "30 ms"), ("d", "30 ms"), ("d", "60 ms"), ("b", "2 ms"), ("c", "3 ms"),
                                ("c", "3 ms"), ("b", "2 ms")])
        self.run_js("treadle.view.setRange(80e6, 10e6)")
        self.browser.press("ArrowDown")
        start, span = self.range()
        self.assertTrue(start <= 3 * MS < start + span, (start, span))

    def test_find(self):
        drawing = locks()
        for i in range(30):
            drawing.name(1, (50 + i, 200 + i, PLATFORM), f"Worker-{i}")
        self.show_timeline(drawing)
        self.assertEqual(self.text("#thread-count"), "34 threads")
        self.browser.press("/")
        self.browser.type("worker-2")
        self.assertEqual(self.text("#thread-count"), "11 of 34 threads")
        self.assertEqual(self.run_js("treadle.view.rows[0].name"), "Worker-2")
        self.browser.press("Escape")
        self.assertEqual(self.text("#thread-count"), "34 threads")


class Safety(TimelinePage):
    NAME = "</script><b id=owned>x"

    def test_names_are_text(self):
        drawing = Drawing()
        for number, name in enumerate((self.NAME, "evil \u202etxt.exe", "__proto__"), 1):
            drawing.name(1, (number, 10 + number, PLATFORM), name)
            drawing.wait(2, 50, (number, 10 + number, PLATFORM), MONITOR, (7, BLOCK_MONITOR), (1, 11, 0))
        self.show_timeline(drawing)
        self.assertEqual(sorted(self.run_js("treadle.view.rows.map(({ name }) => name)")),
                         [self.NAME, "__proto__", "evil \\u202etxt.exe"])
        self.browser.click(*self.point(self.NAME, 0, 0.2))
        self.assertIn(self.NAME, self.text("#slice"))
        self.assertIn(self.NAME, self.tooltip())
        self.assertFalse(self.run_js("Boolean(document.getElementById('owned'))"))
        self.assertEqual(self.browser.requests, [self.url])
        with open(self.path("x.html"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("owned", text)
        self.assertNotIn("src=", text)
        self.assertRegex(text, r"default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; ")


class Command(TimelinePage):
    def test_files(self):
        with open(self.path("x.timeline"), "wb") as file:
            file.write(locks().octets())
        said = self.treadle("timeline", "x.timeline", "--html", "x.html")
        self.assertEqual(said.split("\n")[-2], "x.html")
        self.assertEqual(sorted(os.listdir(self.folder)), ["tmp", "x.html", "x.timeline"])
        said = self.treadle("timeline", "x.timeline", "--html", "x.html", "-o", "x.trace")
        self.assertEqual(said.split("\n")[-3:-1], ["x.trace", "x.html"])
        self.assertGreater(os.path.getsize(self.path("x.trace")), 100)
        self.assertIn("name another one", self.treadle("timeline", "x.timeline", "--html", "x.timeline", status=1))
        self.assertIn("no regular file", self.treadle("timeline", "x.timeline", "--html", ".", status=1))
        self.assertIn("cannot be both", self.treadle("timeline", "x.timeline", "--html", "x", "-o", "x", status=2))
        self.treadle("timeline", "x.timeline", "--html", "none/x.html", status=1)
        with open(self.path("x.timeline"), "rb") as file:
            self.assertEqual(file.read(), locks().octets())


class Large(TimelinePage):
    THREADS = 20
    EACH = 5000

    def drawing(self):
        """200,000 slices: of each thread 5,000 waits of 15 µs, one each 20 µs, and a run of 5 µs behind each."""
        drawing = Drawing(lanes=1, lane_events=1 << 19)
        for i in range(self.THREADS):
            thread = (1 + i, 100 + i, PLATFORM)
            drawing.name(0, thread, f"worker-{i}")
            for turn in range(self.EACH):
                at = turn * 0.02
                drawing.wait(at, at + 0.015, thread, turn % 5)
                drawing.run(at + 0.015, at + 0.02, 100 + i, i)
        return drawing

    def test_many_slices(self):
        said = self.show_timeline(self.drawing())
        self.assertIn("200,000 slices", said.replace("\u202f", ",").replace(" 000 slices", ",000 slices"))
        self.assertEqual(self.run_js("treadle.model.slices.count + treadle.model.runs.count"), 200_000)
        self.assertEqual(self.run_js("document.querySelectorAll('body *').length < 100"), True)
        width = self.box()[2]
        lanes = self.run_js("treadle.view.rows.filter(({ top }) => top < treadle.view.height)"
                            ".reduce((sum, { parts }) => sum + parts.length, 0)")
        # Whatever is in sight, a lane has a rectangle for two pixels at most, and a text for thirty.
        for _ in range(18):
            self.assertLess(self.run_js("treadle.view.draws"), lanes * (width / 2 + width / 30 + 10))
            self.browser.press("+")
        self.assertEqual(self.range()[1], US)
        # One slice a lane is in sight: its rectangle and its text, the row's ground, name and sum, the axis.
        self.assertLess(self.run_js("treadle.view.draws"), 5 * lanes + 30)

    def test_one_frame_at_a_time(self):
        self.show_timeline(locks())
        frames = self.run_js("treadle.view.frames")
        self.run_js("(() => { for (let i = 0; i < 100; i++) treadle.view.pan(0.01); })()")
        self.browser.drawn()
        self.assertEqual(self.run_js("treadle.view.frames"), frames + 1)


if __name__ == "__main__":
    page.main()
