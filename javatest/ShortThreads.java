/*
 * Two thousand short-lived platform threads, 200 at a time: none is lost, and the ledger stays small.
 *
 * Expected:
 *   ledger-at-most 24M
 *   thread main
 *     1 ShortThreads.main
 *       2000 ShortThreads.<init>
 *   thread short-{0..1999} from main
 *     1 ShortThreads.run
 *       3 ShortThreads.step
 *         6 ShortThreads.leaf
 *   total ShortThreads.leaf 12000
 */
import java.util.ArrayList;
import java.util.List;

public class ShortThreads implements Runnable {
    static int leaf(int n) {
        return n + 1;
    }

    static int step(int n) {
        return leaf(leaf(n));
    }

    @Override
    public void run() {
        step(step(step(0)));
    }

    public static void main(String[] args) throws InterruptedException {
        int started = 0;
        for (int batch = 0; batch < 10; batch++) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                threads.add(new Thread(new ShortThreads(), "short-" + started++));
            }
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println(started);
    }
}
