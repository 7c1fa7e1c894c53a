"""The page works its sums out by itself, in another language: they are those of `treadle report`, for a large
random forest with recursion, method by method, by thread and merged."""
import page

NODES = 20000
COLUMNS = {"cpu": "cpu_ns", "wall": "wall_ns", "minor_faults": "minor_faults"}


class Numbers(page.Page):
    def rows_of(self, metric, apart):
        """By method: calls, base, cum."""
        self.run_js(f"treadle.change({{ tab: 'methods', metric: '{metric}', apart: {apart} }})")
        rows = self.run_js("treadle.views.methods.all.map((row) => "
                           "[treadle.ledger.methods[row.method].full, row.calls, row.base, row.cum])")
        return {name: numbers for name, *numbers in rows if not name.startswith("(")}

    @staticmethod
    def expected(row, column):
        return [row["calls"], row["base"][column], row["cum"][column]]

    @staticmethod
    def name(row):
        return f"{row['class']}.{row['method']}"

    def test_flat(self):
        self.show("forest", number=NODES)
        methods = [m for m in self.json("report", "forest.ledger", "--view", "flat")["methods"] if m["class"]]
        self.assertGreater(len(methods), 3000)
        for metric, column in COLUMNS.items():
            for apart in "true", "false":
                shown = self.rows_of(metric, apart)
                self.assertEqual(len(shown), len(methods))
                for method in methods:
                    self.assertEqual(shown[self.name(method)], self.expected(method, column))

    def test_callers(self):
        self.show("forest", number=NODES)
        stanzas = {self.name(s["self"]): s
                   for s in self.json("report", "forest.ledger", "--view", "callers")["methods"]}
        self.run_js("treadle.change({ tab: 'methods', metric: 'cpu' })")
        names = self.run_js("treadle.ledger.methods.map((method) => method.full)")
        for number in range(3, len(names), 97):
            if names[number] not in stanzas:
                continue
            self.run_js(f"treadle.change({{ method: {number} }})")
            for side in "parents", "children":
                rows = self.run_js(f"treadle.views.methods.{side}.map((row) => "
                                   "[treadle.ledger.methods[row.method].full, row.calls, row.base, row.cum])")
                shown = {name: numbers for name, *numbers in rows if not name.startswith("(")}
                stanza = [r for r in stanzas[names[number]][side] if r["class"]]
                self.assertEqual(shown, {self.name(r): self.expected(r, "cpu_ns") for r in stanza})


if __name__ == "__main__":
    page.main()
