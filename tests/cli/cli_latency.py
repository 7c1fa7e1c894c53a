"""treadle report --view latency on the ledgers that make_ledger calls latency, latency_later and latency_slow, and on
one without histograms. The percentiles are those of the calls in latency_drawing.h, each within the middle of its
bucket: 1 ms is in 983,040 to 1,015,808 ns, 4 ms in 3,932,160 to 4,063,232, 30 ms in 29,360,128 to 30,408,704."""
import bench

MS = 1_000_000
SERVE = {"p50_ns": 999424, "p90_ns": 999424, "p99_ns": 3997696, "p999_ns": 29884416, "max_ns": 30 * MS,
         "mean_ns": (900 + 95 * 4 + 5 * 30) * MS // 1000, "jitter_ns": (3 + 26) * MS // 999}
SERVE_CPU = {"p50_ns": 100_000, "p90_ns": 100_000, "p99_ns": 100_000, "p999_ns": 100_000, "max_ns": 100_000,
             "mean_ns": 100_000, "jitter_ns": 0}
LOOK = {"p50_ns": 100, "p90_ns": 100, "p99_ns": 100, "p999_ns": 100, "max_ns": 100, "mean_ns": 100, "jitter_ns": 0}


def numbers(row):
    return {key: row[key] for key in SERVE}


class Latency(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("latency")

    def rows(self, *arguments):
        return self.json("report", *(arguments or ["latency.ledger"]), "-v", "latency")["methods"]

    def test_text(self):
        lines = self.treadle("report", "latency.ledger", "-v", "latency").splitlines()
        self.assertEqual("".join(line.rstrip() + "\n" for line in lines), """\
lost      3 calls of methods of latency= in no histogram: no room, or no exit seen

How long calls took
P50 … MAX: from entry to exit, waiting included; CPU: of the same calls; percentiles within 3.1 % or 8 ns
JITTER: mean difference between a call and the one that ended before it

METHOD          CALLS     P50     P90      P99    P99.9      MAX   JITTER  CPU P50  CPU P99  CPU MAX  HOOKED
app.Shop.serve  1 000  999 µs  999 µs  4.00 ms  29.9 ms  30.0 ms  29.0 µs   100 µs   100 µs   100 µs
app.Shop.look      10  100 ns  100 ns   100 ns   100 ns   100 ns        0   100 ns   100 ns   100 ns  55.6 %
2 calls more have no end here: under way, or begun or over while unseen
HOOKED: the part of the time in which the budget had room for the method's calls (overhead=)
""")

    def test_json(self):
        serve, look = self.rows()
        self.assertEqual((serve["class"], serve["method"], serve["signature"], serve["calls"], serve["count"]),
                         ("app.Shop", "serve", "()V", 1002, 1000))
        self.assertEqual(numbers(serve), SERVE)
        self.assertEqual(numbers(serve["cpu"]), SERVE_CPU)
        self.assertEqual(serve["histogram"],
                         [[983040, 1015808, 900], [3932160, 4063232, 95], [29360128, 30408704, 5]])
        self.assertNotIn("hooked", serve)
        self.assertEqual((look["count"], look["hooked"]["share_ppm"]), (10, 555_555))
        self.assertEqual(numbers(look), LOOK)
        self.assertEqual(numbers(look["cpu"]), LOOK)

    def test_csv(self):
        for row, written in zip(self.rows(), self.csv("report", "latency.ledger", "-v", "latency")):
            for key in ("class", "method", "signature", "calls", "count", *SERVE):
                self.assertEqual(written[key], str(row[key]), key)
            for key, value in numbers(row["cpu"]).items():
                self.assertEqual(written[f"cpu_{key}"], str(value), key)

    def test_sort_and_top(self):
        for sort, first in (("p50", "serve"), ("max", "serve"), ("count", "serve"), ("name", "look"), ("cpu", "serve")):
            rows = self.csv("report", "latency.ledger", "-v", "latency", "--sort", sort)
            self.assertEqual(rows[0]["method"], first, sort)
        self.assertIn("(1 more, not shown)\n", self.treadle("report", "latency.ledger", "-v", "latency", "--top", "1"))
        self.assertIn("there are ", self.treadle("report", "latency.ledger", "-v", "latency", "--sort", "p42", status=2))

    def test_since(self):
        """100 calls of 8 ms, in a bucket from 7,864,320 to 8,126,464 ns; look was not called."""
        self.make("latency_later")
        rows = self.rows("latency_later.ledger", "--since", "latency.ledger")
        self.assertEqual([(row["method"], row["calls"], row["count"]) for row in rows], [("serve", 100, 100)])
        self.assertEqual((rows[0]["p50_ns"], rows[0]["p999_ns"], rows[0]["max_ns"]), (7995392, 7995392, 8126463))
        self.assertEqual(rows[0]["mean_ns"], 8 * MS)

    def test_merge(self):
        """The calls of both: of 2,000 of serve 1,800 take 1 ms, 95 4 ms, 95 12 ms, 10 30 ms."""
        self.make("latency_slow")
        self.assertEqual(self.run_treadle("merge", "-o", "all.ledger", "latency.ledger", "latency_slow.ledger").returncode,
                         0)
        serve, look = self.rows("all.ledger")
        self.assertEqual((serve["calls"], serve["count"], serve["p50_ns"], serve["p999_ns"], serve["max_ns"]),
                         (2004, 2000, 999424, 29884416, 30 * MS))
        self.assertEqual([count for _, _, count in serve["histogram"]], [1800, 95, 95, 10])
        self.assertEqual(serve["cpu"]["histogram"], [[98304, 102400, 2000]])
        self.assertEqual(look["count"], 10)

    def test_diff(self):
        """95 of 1,000 calls take 12 ms instead of 4: 0.095 apart, by chance in 218 of a million cases."""
        self.make("latency_slow")
        serve, look = self.json("diff", "latency.ledger", "latency_slow.ledger", "-v", "latency")["methods"]
        self.assertEqual((serve["method"], serve["state"], serve["count"]),
                         ("serve", "both", {"a": 1000, "b": 1000, "change": 0}))
        self.assertEqual(serve["p50_ns"], {"a": 999424, "b": 999424, "change": 0})
        self.assertEqual(serve["p99_ns"], {"a": 3997696, "b": 11796480, "change": 11796480 - 3997696})
        self.assertEqual((serve["distance_ppm"], serve["chance_ppm"]), (95_000, 218))
        self.assertEqual((serve["cpu"]["distance_ppm"], serve["cpu"]["chance_ppm"]), (0, 1_000_000))
        self.assertEqual((look["method"], look["state"]), ("look", "gone"))
        self.assertNotIn("distance_ppm", look)
        text = self.treadle("diff", "latency.ledger", "latency_slow.ledger", "-v", "latency")
        self.assertRegex(text, r"\n  P99 +4\.00 ms +11\.8 ms +\+7\.80 ms +\+195\.1 %\n")
        self.assertRegex(text, r"\n  apart +9\.5 % +0\.02 % by chance\n")
        self.assertRegex(text, r"\napp\.Shop\.look +gone *\n  calls +10 +0 .*\n  P50 +100 ns *\n")
        rows = self.csv("diff", "latency.ledger", "latency_slow.ledger", "-v", "latency")
        self.assertEqual((rows[0]["a_p99_ns"], rows[0]["b_p99_ns"], rows[0]["distance_ppm"], rows[0]["chance_ppm"],
                          rows[0]["cpu_distance_ppm"]), ("3997696", "11796480", "95000", "218", "0"))
        rows = self.csv("diff", "latency.ledger", "latency.ledger", "-v", "latency", "--top", "1")
        self.assertEqual([(row["method"], row["chance_ppm"]) for row in rows], [("look", "1000000")])

    def test_without_histograms(self):
        self.make("plain")
        self.assertIn("(no calls: latency= names the methods whose calls are measured)\n",
                      self.treadle("report", "plain.ledger", "-v", "latency"))
        self.assertEqual(self.rows("plain.ledger"), [])


if __name__ == "__main__":
    bench.main()
