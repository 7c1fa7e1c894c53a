"""Names come from outside: nothing in them may reach a terminal, and none of them is lost."""
import unicodedata

import bench

HARMLESS_CONTROLS = "\n"
NAMED_VIEWS = ("threads", "waits", "locks", "blockers", "hazards", "latency", "spawn", "tree", "flat", "callers",
               "activity")


class Names(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("hostile")

    def assert_harmless(self, text, longest):
        for character in text:
            if character not in HARMLESS_CONTROLS:
                self.assertNotIn(unicodedata.category(character), ("Cc", "Cf", "Zl", "Zp"),
                                 repr(character))
        self.assertLessEqual(max(map(len, text.splitlines())), longest)

    def test_text_is_harmless_and_cut(self):
        for view in ("threads", "tree", "flat", "callers"):
            text = self.treadle("report", "hostile.ledger", "--view", view)
            self.assert_harmless(text, 300)
            for shown in ("\\x1b[31malert\\x1b[0m", "two\\nlines\\tand a tab",
                          "evil \\u202etxt.exe", "zero\\u200bwidth", "nul \\x00 inside",
                          "clef 𝄞", "csi \\x9b31m", "日本", "xxx…xxx"):
                self.assertIn(shown, text, view)

    def test_commands_are_cut_in_the_middle(self):
        # What a JVM runs stands behind its class path.
        self.make("long_command")
        for arguments in (("report", "long_command.ledger"),
                          ("diff", "long_command.ledger", "long_command.ledger")):
            text = self.treadle(*arguments)
            line = next(line for line in text.splitlines() if "/opt/000" in line)
            self.assertRegex(line, "/opt/0+…0+/lib.jar demo.Main --last 7")

    def test_list_is_harmless(self):
        self.assert_harmless(self.treadle("list"), 300)
        self.assertIn("demo.\\x1b]0;owned\\x07Main", self.treadle("list"))

    def test_json_has_them_whole(self):
        text = self.treadle("report", "hostile.ledger", "--json")
        self.assertTrue(text.isascii())
        names = {thread["name"] for thread in self.json("report", "hostile.ledger")["threads"]}
        self.assertEqual(names, {
            "red \033[31malert\033[0m", "two\nlines\tand a tab", "evil \u202etxt.exe",
            "zero\u200bwidth", "x" * 10240, "nul \0 inside", "clef 𝄞", "broken \ufffd\ufffd",
            'comma, "quoted"', "csi \x9b31m", "", "日本"})
        for view in ("tree", "flat", "callers"):
            self.json("report", "hostile.ledger", "-v", view)

    def test_csv_is_quoted_and_on_one_line(self):
        text = self.treadle("report", "hostile.ledger", "--csv")
        self.assertIn('"comma, ""quoted"""', text)
        self.assertEqual(len(text.splitlines()), 13)
        self.assert_harmless(text, 11_000)
        names = [row["thread"] for row in self.csv("report", "hostile.ledger")]
        self.assertIn("x" * 10240, names)
        self.assertIn('comma, "quoted"', names)
        self.assertIn("red \\x1b[31malert\\x1b[0m", names)

    def test_csv_has_no_formulas(self):
        self.make("formulas")
        texts = {"'=1+1", "'+1", "'-1", "'@SUM(A1)", "plain"}
        self.assertEqual({row["thread"] for row in self.csv("report", "formulas.ledger")}, texts)
        self.assertEqual({row["class"] for row in self.csv("report", "formulas.ledger", "-v", "flat")
                          if row["class"]}, texts)
        exported = self.treadle("export", "formulas.ledger", "-f", "csv", "-o", "-")
        self.assertNotRegex(exported, r'(?m)(^|,)"?[=+@-]')

    def test_every_view(self):
        """One name in all places; each view shows it, and no view as it is."""
        self.make("named_controls", "controls.ledger")
        ledgers = [self.make("named_formula", f"formula{i}.ledger", i) for i in range(4)]
        for view in NAMED_VIEWS:
            for form in ((), ("--csv",)):
                text = self.treadle("report", "controls.ledger", "-v", view, *form)
                self.assert_harmless(text, 1000)
                self.assertIn(r"red \x1b[31malert\nline\u202e\x7f"[:20], text, view)
            for ledger in ledgers:
                text = self.treadle("report", ledger, "-v", view, "--csv")
                self.assertRegex(text, r"""(?m)(^|,)"'[=+@-]""", view)
                self.assertNotRegex(text, r'(?m)(^|,)"?[=+@-]', view)
        for view in ("text", "latency"):
            more = () if view == "text" else ("-v", view)
            self.assert_harmless(self.treadle("diff", *more, "controls.ledger", "controls.ledger"), 1000)

    def test_ascii_where_the_locale_is(self):
        text = self.treadle("report", "hostile.ledger", env={"LC_ALL": "C"})
        self.assertTrue(text.isascii())
        self.assertIn("\\u65e5\\u672c", text)
        self.assertIn("clef \\U0001d11e", text)


if __name__ == "__main__":
    bench.main()
