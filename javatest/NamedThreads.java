/*
 * Twenty named threads at once, in four groups that differ in how much they call.
 *
 * Expected:
 *   thread main
 *     1 NamedThreads.<clinit>
 *     1 NamedThreads.main
 *       20 NamedThreads.<init>
 *   thread one-{0..4} from main
 *     1 NamedThreads.run
 *       100 NamedThreads.step
 *         100 NamedThreads.leaf
 *   thread two-{0..4} from main
 *     1 NamedThreads.run
 *       200 NamedThreads.step
 *         400 NamedThreads.leaf
 *   thread three-{0..4} from main
 *     1 NamedThreads.run
 *       300 NamedThreads.step
 *         900 NamedThreads.leaf
 *   thread four-{0..4} from main
 *     1 NamedThreads.run
 *       400 NamedThreads.step
 *         1600 NamedThreads.leaf
 *   total NamedThreads.step 5000
 *   total NamedThreads.leaf 15000
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

public class NamedThreads implements Runnable {
    static final CountDownLatch together = new CountDownLatch(20);
    final int width;

    NamedThreads(int width) {
        this.width = width;
    }

    static int leaf(int n) {
        return n ^ 1;
    }

    int step(int n) {
        for (int i = 0; i < width; i++) {
            n = leaf(n);
        }
        return n;
    }

    @Override
    public void run() {
        together.countDown();
        try {
            together.await();
        } catch (InterruptedException e) {
            return;
        }
        for (int i = 0; i < 100 * width; i++) {
            step(i);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        String[] groups = {"one", "two", "three", "four"};
        for (int i = 0; i < 20; i++) {
            threads.add(new Thread(new NamedThreads(1 + i % 4), groups[i % 4] + "-" + i / 4));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }
}
