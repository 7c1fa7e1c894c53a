"""A ledger, its page, and a browser that looks at it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import bench
import browser

SKIP = 77


class Page(bench.Bench):
    """One browser for all tests of a class; each has a ledger and a page of its own."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def show(self, kind, hash="", number=0, options=()):
        """Opens the page of such a ledger."""
        self.make(kind, number=number)
        output = self.treadle("html", f"{kind}.ledger", *options)
        self.open_file(output.strip(), hash)

    def open_file(self, name, hash=""):
        """A page, which must not complain then or later."""
        self.url = f"file://{self.path(name)}"
        self.browser.complaints.clear()
        self.browser.requests.clear()
        self.addCleanup(self.assert_quiet)
        self.browser.open("about:blank")
        self.browser.open(self.url + hash)
        self.browser.drawn()

    def assert_quiet(self):
        self.browser.drawn()
        self.assertEqual(self.browser.complaints, [])

    def run_js(self, expression):
        return self.browser.run(expression)

    def text(self, selector):
        return self.run_js(f"document.querySelector({json.dumps(selector)}).innerText")

    def hash(self):
        """What the address says, by name."""
        return self.run_js("(treadle.address(), "
                           "Object.fromEntries(new URLSearchParams(location.hash.slice(1))))")

    def rows(self, table):
        """The texts of a table's rows, from the top."""
        return self.run_js(
            f"[...document.querySelectorAll('#{table} .row')].filter((row) => !row.hidden)"
            ".sort((a, b) => a.index - b.index)"
            ".map((row) => [...row.children].map((cell) => cell.innerText.replaceAll('\\u202f', '')))")

    def column(self, table, column):
        return [row[column] for row in self.rows(table)]

    def click_row(self, table, text, column):
        """Clicks on that column of the first row that has the text."""
        point = self.run_js(
            f"(() => {{ const row = [...document.querySelectorAll('#{table} .row')].find((row) => "
            f"!row.hidden && row.innerText.includes({json.dumps(text)})); "
            f"const box = row.children[{column}].getBoundingClientRect(); "
            "return [box.x + 20, box.y + box.height / 2]; })()")
        self.browser.click(*point)

    def frame_point(self, part, row):
        """The point of the flame graph at such a part of its width, in that row from its root."""
        box = self.run_js("(({x, y, width}) => [x, y, width])"
                          "(document.querySelector('#frames').getBoundingClientRect())")
        return box[0] + part * box[2], box[1] + 20 * row + 10

    def focused(self):
        return self.text("#frame")


def main():
    if not browser.find():
        print("SKIP: no Chromium here (tools/packages test)")
        sys.exit(SKIP)
    done = subprocess.run([bench.TREADLE, "html", "/nonexistent"], capture_output=True, text=True, check=False)
    if "was built without the page" in done.stderr:
        print(f"SKIP: {done.stderr.strip()}")
        sys.exit(SKIP)
    bench.main()
