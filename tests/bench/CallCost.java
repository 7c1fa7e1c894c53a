import java.util.Locale;
import java.util.concurrent.CountDownLatch;

/**
 * Prints what a call costs here: recursive fib for a while, in nanoseconds per call.
 *
 * <p>CallCost [VARIANT [THREADS]]: `fib` (the default) is for an agent to see; `bare` calls two empty native
 * methods that read the cycle counter, at its beginning and at its end. With several threads each runs by
 * itself, and what is printed is one thread's CPU time per call.
 */
public class CallCost {
    static final long MEASURE_NS = 400_000_000L;
    static final int N = 20;

    interface Variant {
        int run(int n);
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static class Bare {
        static {
            System.loadLibrary("bare_calls");
        }

        static native long enter(int method);

        static native void leave(long token);

        static int fib(int n) {
            long token = enter(1);
            int result = n < 2 ? n : fib(n - 1) + fib(n - 2);
            leave(token);
            return result;
        }
    }

    /** Calls that fib(n) makes, itself included. */
    static long calls(int n) {
        int[] f = new int[n + 2];
        f[1] = 1;
        for (int i = 2; i < f.length; i++) {
            f[i] = f[i - 1] + f[i - 2];
        }
        return 2L * f[n + 1] - 1;
    }

    static double nsPerCall(Variant variant, long enoughNs) {
        long one = calls(N);
        long calls = 0;
        long start = System.nanoTime();
        long spent;
        do {
            variant.run(N);
            calls += one;
            spent = System.nanoTime() - start;
        } while (spent < enoughNs);
        return (double) spent / calls;
    }

    public static void main(String[] args) throws InterruptedException {
        String name = args.length > 0 ? args[0] : "fib";
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        Variant variant = name.equals("bare") ? Bare::fib : CallCost::fib;
        nsPerCall(variant, MEASURE_NS / 2); // warm up
        double[] ns = new double[threads];
        CountDownLatch ready = new CountDownLatch(threads);
        Thread[] running = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int me = i;
            running[i] = new Thread(() -> {
                ready.countDown();
                try {
                    ready.await();
                } catch (InterruptedException e) {
                    return;
                }
                ns[me] = nsPerCall(variant, MEASURE_NS);
            });
            running[i].start();
        }
        double sum = 0;
        for (int i = 0; i < threads; i++) {
            running[i].join();
            sum += ns[i];
        }
        // Threads share the processors: the time that each had is its part of the wall time.
        double share = Math.min(1.0, (double) Runtime.getRuntime().availableProcessors() / threads);
        System.out.printf(Locale.ROOT, "%.3f%n", sum / threads * share);
    }
}
