/*
 * Fifty virtual threads that share a few carriers; vt-k does k units of work. A unit burns the same CPU
 * each time, as the kernel measures it, half of it before the thread yields and half before it sleeps:
 * so the threads change carriers all the time. Each thread adds up what it burnt. The library notes which
 * kernel threads it burnt on; at the end their CPU clocks are the truth about all that ran there. Loaded
 * as an agent on both sides of another one, it also reads these clocks at each mount and unmount.
 *
 * Expected:
 *   thread main
 *     1 SharedCarriers.<clinit>
 *     1 SharedCarriers.main
 *       51 SharedCarriers.start
 *         51 SharedCarriers.<init>
 *       1 SharedCarriers.printCarriers
 *   virtual vt-{1..50} from main
 *     1 SharedCarriers.run
 *       # SharedCarriers.unit
 *         # SharedCarriers.untilYield
 *           # SharedCarriers.nextNs
 *           # SharedCarriers.burn
 *         # SharedCarriers.untilSleep
 *           # SharedCarriers.nextNs
 *           # SharedCarriers.burn
 *       1 SharedCarriers.note
 *   virtual warm-up from main
 *     1 SharedCarriers.run
 *       20 SharedCarriers.unit
 *         20 SharedCarriers.untilYield
 *           20 SharedCarriers.nextNs
 *           20 SharedCarriers.burn
 *         20 SharedCarriers.untilSleep
 *           20 SharedCarriers.nextNs
 *           20 SharedCarriers.burn
 *       1 SharedCarriers.note
 */
import java.util.ArrayList;
import java.util.List;

public class SharedCarriers implements Runnable {
    static final int THREADS = 50;
    static final int WARM_UP_UNITS = 20;
    static long halfNs = 500_000;

    final int number;
    final int units;
    long dueNs;
    long burntNs;

    static {
        System.loadLibrary("shared_carriers");
    }

    SharedCarriers(int number, int units) {
        this.number = number;
        this.units = units;
    }

    /** Until the kernel has charged so much to this carrier; what it charged. */
    static native long burn(long ns);

    /** This carrier counts, and so much the thread of this number has burnt in all. */
    static native void note(int number, long burntNs);

    /** When the carriers have come to rest: which they were, their CPU clocks together, and each thread's CPU. */
    static native void printCarriers();

    /** Where the processor was taken away, the kernel may have charged more: the next half makes up. */
    long nextNs() {
        dueNs += halfNs;
        return Math.max(0, dueNs - burntNs);
    }

    void untilYield() {
        burntNs += burn(nextNs());
        Thread.yield();
    }

    void untilSleep() {
        burntNs += burn(nextNs());
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void unit() {
        untilYield();
        untilSleep();
    }

    @Override
    public void run() {
        for (int i = 0; i < units; i++) {
            unit();
        }
        note(number, burntNs);
    }

    static Thread start(String name, int number, int units) {
        return Thread.ofVirtual().name(name).start(new SharedCarriers(number, units));
    }

    public static void main(String[] args) throws InterruptedException {
        if (args.length > 0) {
            halfNs = Long.parseLong(args[0]) * 500;
        }
        start("warm-up", 0, WARM_UP_UNITS).join();
        List<Thread> threads = new ArrayList<>();
        for (int k = 1; k <= THREADS; k++) {
            threads.add(start("vt-" + k, k, k));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        printCarriers();
        System.out.println("done");
    }
}
