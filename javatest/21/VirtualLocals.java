/*
 * Thread locals of virtual threads: each finds its own values wherever it is mounted, and those that it inherits
 * from the thread that made it.
 *
 * Expected:
 *   thread main
 *     1 VirtualLocals.<clinit>
 *       1 VirtualLocals$Own.<init>
 *     1 VirtualLocals.main
 *       20 VirtualLocals.<init>
 *   virtual local-{0..19} from main
 *     1 VirtualLocals.run
 *       10 VirtualLocals.next
 *         1 VirtualLocals$Own.initialValue * 2
 *       1 VirtualLocals.check
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class VirtualLocals implements Runnable {
    static class Own extends ThreadLocal<Integer> {
        @Override
        protected Integer initialValue() {
            return 100;
        }
    }

    static final Own OWN = new Own();
    static final InheritableThreadLocal<String> INHERITED = new InheritableThreadLocal<>();
    static final AtomicInteger RIGHT = new AtomicInteger();
    final int step;

    VirtualLocals(int step) {
        this.step = step;
    }

    static void next(int step) throws InterruptedException {
        OWN.set(OWN.get() + step);
        Thread.sleep(1);
    }

    static void check(int step) {
        if (OWN.get() == 100 + 10 * step && INHERITED.get().equals("from main")) {
            RIGHT.incrementAndGet();
        }
    }

    @Override
    public void run() {
        try {
            for (int i = 0; i < 10; i++) {
                next(step);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        check(step);
    }

    public static void main(String[] args) throws InterruptedException {
        INHERITED.set("from main");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            threads.add(Thread.ofVirtual().name("local-" + i).start(new VirtualLocals(i)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(RIGHT.get());
    }
}
