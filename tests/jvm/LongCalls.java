import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;

/**
 * Two threads that call methods whose calls take 150 microseconds of CPU time, some thousand times a second: one that
 * returns, one that throws, one that calls itself; and one that takes 50 microseconds, nearly all of them in one call
 * of another method. `run N` has each thread do so N times.
 */
public class LongCalls {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final long CALL_NS = 150_000;
    static final long WRAPPED_NS = 50_000;
    static final int SHORT_CALLS = 20;
    static final int DEPTH = 3;

    static volatile long sink;

    static void burn(long ns) {
        long until = THREADS.getCurrentThreadCpuTime() + ns;

        while (THREADS.getCurrentThreadCpuTime() < until) {
            sink++;
        }
    }

    static int quick(int number) {
        int sum = number;

        for (int i = 0; i < 3; i++) {
            sum = sum * 31 + (int) sink;
        }
        return sum;
    }

    static void returns() {
        for (int i = 0; i < SHORT_CALLS; i++) {
            sink += quick(i);
        }
        burn(CALL_NS);
    }

    static void fails() {
        burn(CALL_NS);
        throw new IllegalStateException();
    }

    static void recurses(int depth) {
        if (depth > 1) {
            recurses(depth - 1);
        } else {
            burn(CALL_NS);
        }
    }

    static void wraps() {
        for (int i = 0; i < SHORT_CALLS; i++) {
            sink += i;
        }
        wrapped();
    }

    static void wrapped() {
        for (int i = 0; i < SHORT_CALLS; i++) {
            sink -= i;
        }
        burn(WRAPPED_NS);
    }

    static void work(int count) {
        for (int i = 0; i < count; i++) {
            returns();
            wraps();
            recurses(DEPTH);
            try {
                fails();
            } catch (IllegalStateException expected) {
                sink++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Scanner lines = new Scanner(System.in);

        System.out.println("ready");
        while (lines.hasNextLine()) {
            int count = Integer.parseInt(lines.nextLine().split(" ")[1]);
            Thread other = new Thread(() -> work(count), "other");

            other.start();
            work(count);
            other.join();
            System.out.println(count);
        }
    }
}
