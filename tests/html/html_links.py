"""A link shows the same view again, whatever it was; one that makes no sense shows what it can."""
import page


class Links(page.Page):
    def test_same_view(self):
        self.show("plain", "#tab=flame&metric=calls&threads=0&search=fib")
        self.browser.click(*self.frame_point(0.5, 1))
        self.browser.press("f")
        link = self.run_js("location.href")
        shown = self.focused()
        view = "[treadle.views.flame.engine.positionX, treadle.views.flame.engine.zoom]"
        before = self.run_js(view)
        self.browser.open("about:blank")
        self.browser.open(link)
        self.browser.drawn()
        self.assertEqual(self.run_js("location.href"), link)
        self.assertEqual(self.run_js(view), before)
        self.assertIn("of calls", self.text("#matches"))
        self.assertEqual(self.run_js("[metric.value, document.getElementById('search').value]"),
                         ["calls", "fib"])
        self.assertIn("demo.Main.main", shown)

    def test_every_part(self):
        for tab, rows in ("tree", "tree-table"), ("methods", "method-table"), ("threads", "thread-table"):
            link = f"#tab={tab}&metric=wall&threads=0-1&by=method&method=3&find=w&sort=name-up"
            self.show("plain", link)
            before = self.rows(rows)
            self.assertTrue(before)
            again = self.run_js("(treadle.address(), location.href)")
            self.browser.open("about:blank")
            self.browser.open(again)
            self.browser.drawn()
            self.assertEqual(self.rows(rows), before)

    def test_following(self):
        self.show("plain", "#tab=threads")
        self.run_js("void (location.hash = '#tab=methods&method=4')")
        self.browser.wait_for("!document.getElementById('methods').hidden")
        self.run_js("history.back()")
        self.browser.wait_for("!document.getElementById('threads').hidden")

    def test_nonsense(self):
        for link in ("#", "#tab=x&metric=y&threads=z&zoom=n999999999&method=99999999&sort=;&by=q",
                     "#tab=flame&threads=77,8-9,1-,-&zoom=r0.9-0.1", "#tab=flame&zoom=r2-3",
                     "#tab=tree&zoom=n-1", "#%ff%00=%zz&tab=flame", "#tab=flame&metric=__proto__",
                     "#tab=methods&search=/(((/", "#tab=threads&sort=constructor-up",
                     "#tab=flame&zoom=r0.5-0.500000000"):
            self.show("plain", link)
            self.assert_quiet()
            self.assertTrue(self.run_js("treadle.tree.count > 0"))


if __name__ == "__main__":
    page.main()
