import java.util.Scanner;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that come and go, at most as many alive at a time as its argument says. A line of standard input
 * `virtual worker:1,helper:2 12000` starts twelve thousand virtual threads (or `platform` ones), every other
 * one a worker-N, which parks once, the others helper-N, which park twice. When all are over it answers with
 * the calls that they made, by their own count, and with the ns that it took.
 */
public class ManyThreads {
    static final long PARK_NS = 1_000_000;
    static final LongAdder CALLS = new LongAdder();
    static long started;

    /** With P parks: 1 run, P + 1 step, 2 P + 2 leaf, P pause. */
    static class Task implements Runnable {
        final int parks;
        int calls;

        Task(int parks) {
            this.parks = parks;
        }

        int leaf(int n) {
            calls++;
            return n + 1;
        }

        int step(int n) {
            calls++;
            return leaf(leaf(n));
        }

        void pause() {
            calls++;
            LockSupport.parkNanos(PARK_NS);
        }

        @Override
        public void run() {
            calls++;
            int n = 0;
            for (int i = 0; i < parks; i++) {
                n = step(n);
                pause();
            }
            if (step(n) != 2 * parks + 2) {
                throw new IllegalStateException();
            }
            CALLS.add(calls);
        }
    }

    static class Platform implements ThreadFactory {
        final String prefix;
        long next = started;

        Platform(String prefix) {
            this.prefix = prefix;
        }

        @Override
        public Thread newThread(Runnable task) {
            return new Thread(task, prefix + next++);
        }
    }

    /** Compiled for JDKs that have none. */
    static ThreadFactory virtual(String prefix) throws ReflectiveOperationException {
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Object unnamed = Thread.class.getMethod("ofVirtual").invoke(null);
        Object named = builder.getMethod("name", String.class, long.class).invoke(unnamed, prefix, started);
        return (ThreadFactory) builder.getMethod("factory").invoke(named);
    }

    /** The oldest must be over before the next one is started. */
    static void run(String kind, String[] groups, int count, Thread[] alive) throws Exception {
        ThreadFactory[] factories = new ThreadFactory[groups.length];
        int[] parks = new int[groups.length];
        for (int i = 0; i < groups.length; i++) {
            String[] group = groups[i].split(":");
            factories[i] = kind.equals("virtual") ? virtual(group[0] + "-") : new Platform(group[0] + "-");
            parks[i] = Integer.parseInt(group[1]);
        }
        for (int i = 0; i < count; i++) {
            int place = i % alive.length;
            if (alive[place] != null) {
                alive[place].join();
            }
            int group = i % groups.length;
            alive[place] = factories[group].newThread(new Task(parks[group]));
            alive[place].start();
        }
        for (int i = 0; i < alive.length && alive[i] != null; i++) {
            alive[i].join();
            alive[i] = null;
        }
        started += count;
    }

    public static void main(String[] args) throws Exception {
        Thread[] alive = new Thread[Integer.parseInt(args[0])];
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            long began = System.nanoTime();
            run(in.next(), in.next().split(","), in.nextInt(), alive);
            System.out.println(CALLS.sumThenReset() + " " + (System.nanoTime() - began));
        }
    }
}
