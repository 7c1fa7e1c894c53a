"""A page of a large server is small enough to be sent, and opens."""
import os

import page

THREADS = 12_000
MOST_BYTES = 15_000_000


class Size(page.Page):
    def test_page_of_12000_threads_is_under_15_mb(self):
        """Each with forty calling contexts and what every kernel tells of a thread. Without compression it
        would be more than 18 MB."""
        self.show("server", number=THREADS)
        self.assertLess(os.path.getsize(self.path("server.html")), MOST_BYTES)
        self.assertEqual(self.run_js("treadle.ledger.threads.length"), THREADS)
        # 12,000 roots; of each ten threads one is the VM's and has no calls.
        self.assertEqual(self.run_js("treadle.ledger.nodeCount"), THREADS + THREADS * 9 // 10 * 40)


if __name__ == "__main__":
    page.main()
