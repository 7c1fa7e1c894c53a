import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls whose times the program measures itself: from the first to the last statement of the method (`inside`), and
 * around the call (`around`). Any other clock that is read at entry and exit says something in between. Orders from
 * standard input: `calls` makes all of them; `hold` has a thread stand in `held` until `let`; `nap N` naps N times;
 * `times` prints what was measured, a line `method clock inside around` for each call, and then `end`.
 */
public class Latencies {
    static final int THREADS = 3;
    static final int QUICK_CALLS = 300_000;
    static final int[] NAPS_US = {100, 300, 1000, 3000, 10_000};

    static final ThreadMXBean THREAD_TIMES = ManagementFactory.getThreadMXBean();
    static final List<String> TIMES = new ArrayList<>();

    static volatile long sink;
    static volatile boolean holds;
    static volatile boolean stands;

    /** What one call took, on one clock. */
    static final class Times {
        long inside;
        long cpuInside;
    }

    static long now() {
        return System.nanoTime();
    }

    static long cpu() {
        return Thread.currentThread().getId() >= 0 && THREAD_TIMES.isCurrentThreadCpuTimeSupported()
            ? THREAD_TIMES.getCurrentThreadCpuTime() : 0;
    }

    static void nap(Times times, long ns) {
        long from = now();
        LockSupport.parkNanos(ns);
        times.inside = now() - from;
    }

    static void burn(Times times, long ns) {
        long from = now();
        long cpuFrom = cpu();
        while (now() - from < ns) {
            sink += from;
        }
        times.cpuInside = cpu() - cpuFrom;
        times.inside = now() - from;
    }

    /** Ends with an exception, as does its caller. */
    static void thrower(Times times, long ns) {
        long from = now();
        LockSupport.parkNanos(ns);
        times.inside = now() - from;
        throw new IllegalStateException();
    }

    static void unwound(Times times, Times below, long ns) {
        long from = now();
        try {
            thrower(below, ns);
        } finally {
            times.inside = now() - from;
        }
    }

    /** The calls of one recursion, the outermost first. */
    static void recursive(Times[] times, long[] around, int level) {
        long from = now();
        if (level + 1 < times.length) {
            long start = now();
            recursive(times, around, level + 1);
            around[level + 1] = now() - start;
        } else {
            LockSupport.parkNanos(1_000_000);
        }
        times[level].inside = now() - from;
    }

    static int quick(int n) {
        return 3 * n + 1;
    }

    static void held() {
        stands = true;
        while (holds) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    static synchronized void add(String method, String clock, long inside, long around) {
        TIMES.add(method + " " + clock + " " + inside + " " + around);
    }

    static void naps(int count) {
        for (int i = 0; i < count; i++) {
            Times times = new Times();
            long from = now();
            nap(times, NAPS_US[i % NAPS_US.length] * 1000L);
            add("nap", "elapsed", times.inside, now() - from);
        }
    }

    static void burns() {
        for (int i = 0; i < 60; i++) {
            Times times = new Times();
            long cpuFrom = cpu();
            long from = now();
            burn(times, (i % 6 + 1) * 200_000L);
            long around = now() - from;
            long cpuAround = cpu() - cpuFrom;
            add("burn", "elapsed", times.inside, around);
            add("burn", "cpu", times.cpuInside, cpuAround);
        }
    }

    static void exceptions() {
        for (int i = 0; i < 40; i++) {
            Times times = new Times();
            Times below = new Times();
            long from = now();
            try {
                unwound(times, below, i % 2 == 0 ? 100_000 : 2_000_000);
            } catch (IllegalStateException e) {
                long around = now() - from;
                add("unwound", "elapsed", times.inside, around);
                add("thrower", "elapsed", below.inside, times.inside);
            }
        }
    }

    static void recursions() {
        for (int i = 0; i < 10; i++) {
            Times[] times = new Times[5];
            for (int level = 0; level < times.length; level++) {
                times[level] = new Times();
            }
            long[] around = new long[times.length];
            long from = now();
            recursive(times, around, 0);
            around[0] = now() - from;
            for (int level = 0; level < times.length; level++) {
                add("recursive", "elapsed", times[level].inside, around[level]);
            }
        }
    }

    static void quicks() {
        for (int i = 0; i < QUICK_CALLS; i++) {
            sink += quick(i);
        }
    }

    static Thread start(boolean virtual, Runnable body) throws Exception {
        if (virtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }

    static void calls(boolean virtual) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(start(virtual, () -> naps(50)));
        }
        threads.add(start(virtual, Latencies::exceptions));
        for (Thread thread : threads) {
            thread.join();
        }
        burns();
        recursions();
        quicks();
    }

    public static void main(String[] args) throws Exception {
        boolean virtual = args.length > 0 && args[0].equals("virtual");
        Thread holder = null;
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            String order = in.next();
            if (order.equals("calls")) {
                calls(virtual);
            } else if (order.equals("nap")) {
                naps(in.nextInt());
            } else if (order.equals("hold")) {
                holds = true;
                stands = false;
                holder = start(virtual, Latencies::held);
                while (!stands) {
                    Thread.sleep(1);
                }
            } else if (order.equals("let")) {
                holds = false;
                holder.join();
            } else if (order.equals("times")) {
                TIMES.forEach(System.out::println);
            }
            System.out.println("end");
        }
    }
}
