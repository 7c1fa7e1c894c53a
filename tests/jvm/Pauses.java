import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Two threads that compute, one that parks and one that calls System.gc() so many times. Each one that computes prints
 * how long it was stopped, in ns: the time in which the kernel says that it neither ran nor wanted to. It has no other
 * reason to wait.
 */
public final class Pauses {
    private static final CountDownLatch ready = new CountDownLatch(3);
    private static volatile boolean over;
    private static volatile long sum;

    public static void main(String[] arguments) throws Exception {
        int times = Integer.parseInt(arguments[0]);
        over = true;
        compute(); // loads what it needs: no thread waits for another one that does
        over = false;
        var threads = new Thread[] {
            start("computer-1", Pauses::compute), start("computer-2", Pauses::compute), start("parker", Pauses::park)
        };
        ready.await();
        var garbage = new byte[64][];
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < garbage.length; j++)
                garbage[j] = new byte[1 << 18];
            System.gc();
        }
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
        ready.countDown();
        long ran = running(), before = System.nanoTime();
        while (!over)
            step();
        long stopped = System.nanoTime() - before - (running() - ran);
        System.out.println(Thread.currentThread().getName() + " " + stopped);
    }

    /** The calling thread's CPU and the time that it was ready to run and did not, in ns. */
    private static long running() {
        try {
            String[] told = Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ");
            return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + Long.parseLong(told[1]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
