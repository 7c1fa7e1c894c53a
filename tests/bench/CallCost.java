/** Prints what a call costs here: recursive fib for a while, in nanoseconds per call. */
public class CallCost {
    static final long MEASURE_NS = 400_000_000L;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    /** Calls that fib(n) makes, itself included. */
    static long calls(int n) {
        return 2L * fib(n + 1) - 1;
    }

    static double nsPerCall(int n, long enoughNs) {
        long one = calls(n);
        long calls = 0;
        long start = System.nanoTime();
        long spent;
        do {
            fib(n);
            calls += one;
            spent = System.nanoTime() - start;
        } while (spent < enoughNs);
        return (double) spent / calls;
    }

    public static void main(String[] args) {
        nsPerCall(20, MEASURE_NS / 2); // warm up
        System.out.printf(java.util.Locale.ROOT, "%.3f%n", nsPerCall(20, MEASURE_NS));
    }
}
