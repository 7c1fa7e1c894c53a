"""Names are text and nothing else; the page can run, load and send nothing but itself."""
import re

import page


class Safety(page.Page):
    def assert_not_owned(self):
        self.assertNotEqual(self.run_js("document.title"), "owned")
        self.assertFalse(self.run_js("Boolean(document.getElementById('owned'))"))
        self.assertEqual(self.run_js("document.images.length"), 0)
        self.assertEqual(self.run_js("[...document.scripts].filter((one) => !one.type).length"), 1)

    def every_view(self):
        for tab in ("threads", "flame", "tree", "methods"):
            self.run_js(f"treadle.change({{ tab: '{tab}' }})")
            self.browser.drawn()
            self.assert_not_owned()

    def test_markup(self):
        self.show("markup")
        self.every_view()
        self.run_js("treadle.change({ tab: 'threads' })")
        names = self.column("thread-table", 1)
        self.assertIn("</script><script>document.title='owned'</script>", names)
        self.assertIn("__proto__", names)
        self.assertIn("</title><b id=owned>demo", self.text("#command"))
        self.run_js("treadle.change({ tab: 'flame' })")
        self.browser.move(*self.frame_point(0.1, 2))
        self.assertIn("${alert(1)} `", self.text("#tooltip"))
        self.assert_not_owned()

    def test_unseen_characters(self):
        self.show("hostile")
        self.every_view()
        self.run_js("treadle.change({ tab: 'threads' })")
        names = self.column("thread-table", 1)
        for name in ("evil \\u202etxt.exe", "zero\\u200bwidth", "red \\x1b[31malert\\x1b[0m",
                     "two\\nlines\\tand a tab", "nul \\x00 inside", "csi \\x9b31m", "(no name)",
                     "broken \ufffd\ufffd", "clef \U0001d11e", "comma, \"quoted\"", "日本"):
            self.assertIn(name, names)
        self.assertTrue(any(re.fullmatch("x+…x+", name) for name in names))
        labels = self.run_js("treadle.ledger.threads.map((thread) => thread.label)")
        self.assertIn("x" * 10240, labels)

    def test_nothing_in_the_file(self):
        """Nothing of a ledger stands in the file as it is: all of it is in base64."""
        self.make("markup")
        self.treadle("html", "markup.ledger")
        with open(self.path("markup.html"), encoding="ascii", errors="surrogateescape") as file:
            text = file.read()
        for name in ("owned", "__proto__", "demo.Main", "markup.ledger"):
            self.assertNotIn(name, text)
        self.assertNotIn("src=", text)

    def test_policy(self):
        self.show("plain")
        refused = self.run_js("""(async () => {
            const refused = [];
            addEventListener("securitypolicyviolation",
                (event) => refused.push(event.effectiveDirective));
            await fetch("https://localhost/").catch(() => 0);
            const image = new Image();
            image.src = "https://localhost/x.png";
            try { document.body.innerHTML = "<b>x</b>"; } catch { refused.push("innerHTML"); }
            try { eval("1"); } catch { refused.push("eval"); }
            const script = document.createElement("script");
            try { script.textContent = "document.title = 'owned'"; } catch { refused.push("script"); }
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.head.append(style);
            await new Promise((done) => setTimeout(done, 100));
            return refused;
        })()""")
        self.assertLessEqual({"connect-src", "img-src", "innerHTML", "eval", "script", "style-src-elem"},
                             set(refused))
        self.assertEqual(self.run_js("getComputedStyle(document.body).display"), "flex")
        self.browser.complaints.clear()  # the browser told of each of them

    def test_no_scripts_at_all_but_its_own(self):
        """The policy stands before anything that it is to govern."""
        self.make("plain")
        self.treadle("html", "plain.ledger")
        with open(self.path("plain.html"), encoding="utf-8") as file:
            text = file.read()
        self.assertLess(text.index("Content-Security-Policy"), text.index("<style"))
        self.assertRegex(text, r"default-src 'none'; script-src 'sha256-[\w+/=]{44}'; "
                               r"style-src 'sha256-[\w+/=]{44}'; base-uri 'none'")


class Looks(page.Page):
    def test_dark_and_light(self):
        colour = "getComputedStyle(document.body).backgroundColor"
        self.addCleanup(self.browser.prefer, "light")
        self.browser.prefer("light")
        self.show("plain", "#tab=flame")
        light = self.run_js(colour)
        self.browser.prefer("dark")
        dark = self.run_js(colour)
        self.assertNotEqual(light, dark)
        self.browser.press("t")
        self.assertEqual(self.run_js(colour), light)
        self.browser.click_on("#theme")
        self.assertEqual(self.run_js(colour), dark)

    def test_small_windows(self):
        self.addCleanup(self.browser.resize, 1280, 800)
        for width, height in (400, 700), (900, 420), (2200, 1300):
            self.browser.resize(width, height)
            for tab in ("threads", "flame", "tree", "methods"):
                self.show("family", f"#tab={tab}")
                self.assertLessEqual(self.run_js("document.scrollingElement.scrollWidth"), width)


if __name__ == "__main__":
    page.main()
