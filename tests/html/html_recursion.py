"""The page of a ledger whose recursion was folded: which levels a frame stands for. The drawing is
tests/cli/recursive_drawing.h."""
import page


class Recursion(page.Page):
    def levels(self):
        return [(row[0], row[-1]) for row in self.rows("tree-table") if "fib" in row[0]]

    def test_folded(self):
        self.show("recursive", "#tab=tree", number=2)
        self.assertEqual(self.levels(), [("demo.Main.fib", "1"), ("demo.Main.fib", "2 ×2–3")])

    def test_facts(self):
        self.show("recursive", "#tab=tree", number=2)
        facts = self.run_js("(() => { const tree = treadle.tree; return [...Array(tree.count).keys()]"
                            ".map((frame) => [tree.level(frame), tree.levelMax(frame)]); })()")
        self.assertEqual(facts, [[0, 0], [0, 0], [1, 2]])

    def test_all_levels_apart(self):
        self.show("recursive", "#tab=tree")
        self.assertEqual(self.levels(), [("demo.Main.fib", "1"), ("demo.Main.fib", "2 ×2"), ("demo.Main.fib", "3 ×3")])


if __name__ == "__main__":
    page.main()
