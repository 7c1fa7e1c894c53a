"""treadle export --format speedscope, opened in speedscope itself (the package of that name, in a headless
Chromium): it shows a profile a thread, and its table of functions has the numbers of the drawing."""
import base64
import json
import os
import re

import bench
import web_driver

PACKAGE = os.path.join(os.environ.get("NPM_FOLDER", "."), "node_modules", "speedscope", "dist", "release")


class Speedscope(bench.Bench):
    def setUp(self):
        super().setUp()
        if not web_driver.find():
            self.skipTest("no chromedriver here (Debian: chromium-driver)")
        if not os.path.exists(os.path.join(PACKAGE, "index.html")):
            self.skipTest(f"no speedscope in {PACKAGE}: npm_packages.py could not fetch it")

    def show(self, *arguments):
        """The page, showing the table of functions of the first profile."""
        self.treadle("export", "-f", "speedscope", "-o", "x.json", *arguments)
        with open(self.path("x.json"), "rb") as file:
            content = base64.b64encode(file.read()).decode()
        with open(self.path("load.js"), "w", encoding="utf-8") as file:
            file.write(f"speedscope.loadFileFromBase64('x.json', {json.dumps(content)})")
        page = web_driver.Page(self.path("browser"))
        self.addCleanup(page.close)
        page.open(f"file://{PACKAGE}/index.html#localProfilePath={self.path('load.js')}")
        page.wait_for(lambda: "Sandwich" in page.text(), "profile")
        page.press("3")
        page.wait_for(lambda: "Symbol Name" in page.text(), "table of functions")
        if os.environ.get("TREADLE_SCREENSHOT"):
            page.screenshot(os.environ["TREADLE_SCREENSHOT"])
        return page

    def rows(self, page):
        """{function: (total, self)}"""
        text = page.text()
        found = re.findall(r"(\S+) \(\S+%\)\s+(\S+) \(\S+%\)\s+(.+)", text[text.index("Symbol Name"):])
        return {name: (total, own) for total, own, name in found}

    def test_numbers(self):
        self.make("plain")
        page = self.show()
        self.assertIn("worker-1 (1/4)", page.text())
        self.assertEqual(self.rows(page), {
            "(thread)": ("2.60s", "0.00ns"), "demo.Main.work": ("2.55s", "2.35s"),
            "demo.Main.fib": ("200.00ms", "200.00ms"), "(between Java threads)": ("50.00ms", "50.00ms")})
        page.press("n")
        page.wait_for(lambda: "main (2/4)" in page.text(), "second thread")
        self.assertEqual(self.rows(page), {
            "(thread)": ("1.10s", "100.00ms"), "demo.Main.main": ("1.00s", "200.00ms"),
            "demo.Main.fib": ("800.00ms", "800.00ms")})

    def test_counts(self):
        self.make("plain")
        page = self.show("--metric", "calls", "--thread", "main")
        self.assertEqual(self.rows(page), {
            "(thread)": ("103", "0"), "demo.Main.main": ("103", "1"), "demo.Main.fib": ("100", "100"),
            "demo.Main.work": ("2", "2")})

    def test_hostile_names(self):
        self.make("hostile")
        self.assertIn("(1/12)", self.show().text())


if __name__ == "__main__":
    bench.main()
