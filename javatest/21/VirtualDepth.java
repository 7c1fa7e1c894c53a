/*
 * Virtual threads some thousand frames deep: unmounted half-way down, at the bottom, and half-way up again; the last
 * time an exception that is thrown after a nap at the bottom leaves all frames at once.
 *
 * Expected:
 *   thread main
 *     1 VirtualDepth.<clinit>
 *     1 VirtualDepth.main
 *   virtual deep-{0..3} from main
 *     1 VirtualDepth.run
 *       4 VirtualDepth.down * 1000
 *         8 VirtualDepth.nap
 *         4 VirtualDepth.down * 2000
 *           4 VirtualDepth.bottom
 *             4 VirtualDepth.nap
 *       4 VirtualDepth.after
 *   total VirtualDepth.down 48000
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class VirtualDepth {
    static final int DEPTH = 3000;
    static final int HALF_WAY = 2001;
    static final AtomicInteger SUM = new AtomicInteger();

    static void nap() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static int bottom(boolean fails) {
        nap();
        if (fails) {
            throw new IllegalStateException();
        }
        return 1;
    }

    static int down(int n, boolean fails) {
        if (n == 1) {
            return bottom(fails);
        }
        boolean naps = n == HALF_WAY;
        if (naps) {
            nap();
        }
        try {
            return 1 + down(n - 1, fails);
        } finally {
            if (naps) {
                nap();
            }
        }
    }

    static void after() {
    }

    static void run() {
        for (int i = 0; i < 4; i++) {
            try {
                SUM.addAndGet(down(DEPTH, i == 3));
            } catch (IllegalStateException e) {
                SUM.incrementAndGet();
            }
            after();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofVirtual().name("deep-" + i).start(VirtualDepth::run));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(SUM.get());
    }
}
