import java.util.concurrent.locks.LockSupport;

/**
 * Two threads that compute, one that parks and one that calls System.gc() so many times. Prints how long that has
 * taken; the JVM's log says how long each thread was stopped.
 */
public final class Pauses {
    private static volatile boolean over;
    private static volatile long sum;

    public static void main(String[] arguments) throws Exception {
        int times = Integer.parseInt(arguments[0]);
        var threads = new Thread[] {
            start("computer-1", Pauses::compute), start("computer-2", Pauses::compute), start("parker", Pauses::park)
        };
        var garbage = new byte[64][];
        long before = System.nanoTime();
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < garbage.length; j++)
                garbage[j] = new byte[1 << 18];
            System.gc();
        }
        System.out.println(System.nanoTime() - before);
        over = true;
        LockSupport.unpark(threads[2]);
        for (Thread thread : threads)
            thread.join();
    }

    private static Thread start(String name, Runnable what) {
        var thread = new Thread(what, name);
        thread.start();
        return thread;
    }

    private static void compute() {
        while (!over)
            step();
    }

    /** A hooked call in each few microseconds, at which the wait before is charged. */
    private static void step() {
        long product = 1;
        for (int i = 1; i < 5000; i++)
            product = product * 31 + i;
        sum += product;
    }

    private static void park() {
        while (!over)
            LockSupport.park();
    }
}
