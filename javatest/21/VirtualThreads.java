/*
 * Virtual threads with names, which change carriers in the middle of a call: each finds its open frames
 * again wherever it is mounted.
 *
 * Expected:
 *   thread main
 *     1 VirtualThreads.main
 *       40 VirtualThreads.<init>
 *   virtual virtual-{0..39} from main
 *     1 VirtualThreads.run
 *       1 VirtualThreads.down * 5
 *         10 VirtualThreads.step
 *           10 VirtualThreads.pause
 *           20 VirtualThreads.leaf
 *   total VirtualThreads.leaf 800
 */
import java.util.ArrayList;
import java.util.List;

public class VirtualThreads implements Runnable {
    static int leaf(int n) {
        return n + 1;
    }

    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static int step(int n) {
        int before = leaf(n);
        pause();
        return leaf(before);
    }

    static void down(int n) {
        if (n > 1) {
            down(n - 1);
            return;
        }
        for (int i = 0; i < 10; i++) {
            step(i);
        }
    }

    @Override
    public void run() {
        down(5);
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            threads.add(Thread.ofVirtual().name("virtual-" + i).start(new VirtualThreads()));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }
}
