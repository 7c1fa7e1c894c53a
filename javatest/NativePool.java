/*
 * A native library with threads of its own. Four of them attach to the JVM for each of their jobs and detach
 * after it, every other time as a daemon. Then a kernel thread attaches and ends, and another one comes that
 * the kernel gives the same tid.
 *
 * Expected:
 *   thread main
 *     1 NativePool.<clinit>
 *     1 NativePool.main
 *       1 NativePool.pool
 *       1 NativePool.recycle
 *   threads 100 job-*
 *     3 NativePool.work
 *       6 NativePool.leaf
 *   thread recycled-first
 *     2 NativePool.work
 *       4 NativePool.leaf
 *   thread recycled-second
 *     5 NativePool.work
 *       10 NativePool.leaf
 *   same-tid recycled-first recycled-second
 */
public class NativePool {
    static volatile long sink;

    static {
        System.loadLibrary("native_pool");
    }

    /** Four threads, 25 jobs each: job-THREAD-JOB calls work() three times. The number of jobs done. */
    static native int pool();

    /** Two threads with one tid. Whether that could be had. */
    static native boolean recycle();

    static void work() {
        sink = leaf(leaf(sink));
    }

    static long leaf(long n) {
        return n + 1;
    }

    public static void main(String[] args) {
        System.out.println(pool() + " jobs");
        System.out.println("tid recycled: " + recycle());
    }
}
