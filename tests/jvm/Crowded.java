import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;
import java.util.concurrent.SynchronousQueue;

/**
 * A thread, "crowded", that burns CPU time below thousands of frames, so that few samples of it fill a buffer. `burn N`
 * answers `burnt NS` when it has used N ms more: what it used for that.
 */
public class Crowded {
    static final int DEPTH = 4000;
    static final long STACK_BYTES = 64 << 20;

    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final SynchronousQueue<Long> ORDERS = new SynchronousQueue<>();
    static final SynchronousQueue<Long> ANSWERS = new SynchronousQueue<>();

    static volatile long sink;

    static void spin() {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += i ^ sum << 1;
        }
        sink = sum;
    }

    static void burn() throws InterruptedException {
        for (long millis = ORDERS.take(); millis > 0; millis = ORDERS.take()) {
            long begin = CLOCK.getCurrentThreadCpuTime();
            long used = 0;
            while (used < millis * 1_000_000) {
                spin();
                used = CLOCK.getCurrentThreadCpuTime() - begin;
            }
            ANSWERS.put(used);
        }
    }

    static int down(int level) throws InterruptedException {
        if (level == DEPTH) {
            burn();
            return level;
        }
        return down(level + 1) + 1;
    }

    static void run() {
        try {
            sink = down(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread thread = new Thread(null, Crowded::run, "crowded", STACK_BYTES);
        thread.start();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            in.next();
            ORDERS.put(in.nextLong());
            System.out.println("burnt " + ANSWERS.take());
        }
        ORDERS.put(0L);
        thread.join();
    }
}
