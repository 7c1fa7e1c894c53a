/*
 * One kernel thread, made by native code, that is two Java threads in turn: it attaches as job-A,
 * calls work(3), detaches, burns CPU as no Java thread at all, attaches as job-B, calls work(6),
 * detaches. The library measures the truth with the kernel's own clock. What was burnt between the two
 * belongs to job-A, on a line of its own (reuse=previous, the default).
 *
 * Expected:
 *   thread main
 *     1 NativeAttach.<clinit>
 *     1 NativeAttach.main
 *       1 NativeAttach.run
 *   thread job-A
 *     3 NativeAttach.work
 *       3 NativeAttach.leaf
 *   thread job-B
 *     6 NativeAttach.work
 *       6 NativeAttach.leaf
 *   same-tid job-A job-B
 */
public class NativeAttach {
    static volatile long sink;

    static {
        System.loadLibrary("native_attach");
    }

    /** Starts the kernel thread, waits for its end, prints what it measured. */
    static native void run();

    /** Burns some milliseconds. */
    static void work() {
        long x = leaf();
        for (int i = 0; i < 10_000_000; i++) {
            x = x * 6364136223846793005L + i;
        }
        sink = x;
    }

    static long leaf() {
        return sink;
    }

    public static void main(String[] args) {
        run();
        System.out.println("done");
    }
}
