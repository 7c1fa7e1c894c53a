"""--fold in tree and flat: pools are one thread, whose tree is the sum of its threads' trees."""
import re
from collections import Counter

import bench


def pool_of(name):
    return re.sub(r"#*[0-9]+", "#", name)


def paths(root, above=()):
    """Each node of a tree with its path."""
    if root is None:
        return
    path = (*above, (root["class"], root["method"], root["signature"], root["kind"]))
    yield path, root
    for child in root["children"]:
        yield from paths(child, path)


def sums_of(threads, name_of):
    """By name and path: calls, CPU on top, CPU with what is below, samples."""
    sums = {}
    for thread in threads:
        for path, node in paths(thread["root"]):
            values = Counter(calls=node["calls"], base=node["base"]["cpu_ns"], cum=node["cum"]["cpu_ns"],
                             samples=node.get("samples", 0))
            sums.setdefault((name_of(thread["name"]), thread["kind"], path), Counter()).update(values)
    return {key: values for key, values in sums.items()}


class Fold(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("server", "server.ledger", 60)
        self.tree = self.json("report", "server.ledger", "-v", "tree")["threads"]
        self.pools = Counter((pool_of(t["name"]), t["kind"]) for t in self.tree)
        self.assertGreater(max(self.pools.values()), 20)

    def test_tree_has_the_sums_of_each_pool(self):
        folded = self.json("report", "server.ledger", "-v", "tree", "--fold")["threads"]
        members = {(pool_of(t["name"]), t["kind"]): t["count"] for t in folded}
        self.assertEqual(members, dict(self.pools))
        self.assertEqual(len(folded), len(self.pools))
        self.assertEqual(sums_of(folded, pool_of), sums_of(self.tree, pool_of))
        text = self.treadle("report", "server.ledger", "-v", "tree", "--fold")
        self.assertIn(f"http-nio-#-exec-# ×{self.pools['http-nio-#-exec-#', 'platform']}  (platform", text)
        self.assertIn(", 60 of 60 threads\n", text)

    def test_tree_csv(self):
        rows = self.csv("report", "server.ledger", "-v", "tree", "--fold")
        sums = Counter()
        for row in rows:
            sums[row["thread"]] += int(row["base_cpu_ns"])
        expected = Counter()
        for thread in self.tree:
            pool = pool_of(thread["name"])
            single = self.pools[pool, thread["kind"]] == 1
            expected[thread["name"] if single else pool] += thread["cpu_ns"]
        self.assertEqual(sums, expected)

    def test_flat_has_a_table_a_pool(self):
        expected = {}
        for thread in self.tree:
            for path, node in paths(thread["root"]):
                method = path[-1][1].replace("<thread>", "(thread)")
                key = pool_of(thread["name"]), path[-1][0], method, path[-1][2]
                expected.setdefault(key, Counter()).update(calls=node["calls"], base=node["base"]["cpu_ns"])
        flat = self.json("report", "server.ledger", "-v", "flat", "--fold")["methods"]
        found = {}
        for row in flat:
            key = pool_of(row["thread"]), row["class"], row["method"], row["signature"]
            self.assertNotIn(key, found)
            found[key] = Counter(calls=row["calls"], base=row["base"]["cpu_ns"])
        self.assertEqual(found, expected)
        rows = self.csv("report", "server.ledger", "-v", "flat", "--fold")
        self.assertEqual([(r["thread"], int(r["count"]), r["method"], int(r["base_cpu_ns"])) for r in rows],
                         [(r["thread"], r["count"], r["method"], r["base"]["cpu_ns"]) for r in flat])
        text = self.treadle("report", "server.ledger", "-v", "flat", "--fold", "--top", "2")
        self.assertEqual(text.count("  (platform, "), sum(kind == "platform" for _, kind in self.pools))

    def test_only_threads_that_are_chosen(self):
        folded = self.json("report", "server.ledger", "-v", "tree", "--fold", "--thread", "*exec-1*")["threads"]
        chosen = [t for t in self.tree if "exec-1" in t["name"]]
        self.assertEqual([(t["name"], t["count"]) for t in folded], [("http-nio-#-exec-#", len(chosen))])
        self.assertEqual(sums_of(folded, pool_of), sums_of(chosen, pool_of))

    def test_samples(self):
        self.make("sampled")
        tree = self.json("report", "sampled.ledger", "-v", "tree")["threads"]
        folded = self.json("report", "sampled.ledger", "-v", "tree", "--fold")["threads"]
        self.assertEqual(sums_of(folded, pool_of), sums_of(tree, pool_of))
        self.assertEqual(folded[0]["root"]["children"], tree[0]["root"]["children"])


if __name__ == "__main__":
    bench.main()
