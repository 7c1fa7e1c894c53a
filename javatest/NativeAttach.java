/*
 * One kernel thread, made by native code, that is two Java threads in turn: it attaches as job-A, calls
 * work 3 times, detaches, burns CPU as no Java thread at all, attaches as job-B, calls work 6 times,
 * detaches, burns again, and so on for as many rounds as the first argument says (one if there is none);
 * the others are what job-A, job-B and each time between them burn, in microseconds. The library measures
 * the truth with the kernel's own clock. What was burnt between two belongs to the one before, on a line
 * of its own (reuse=previous, the default).
 *
 * Expected:
 *   thread main
 *     1 NativeAttach.<clinit>
 *     1 NativeAttach.main
 *       1 NativeAttach.run
 *   thread job-A
 *     3 NativeAttach.work
 *       3 NativeAttach.leaf
 *       3 NativeAttach.burn
 *   thread job-B
 *     6 NativeAttach.work
 *       6 NativeAttach.leaf
 *       6 NativeAttach.burn
 *   same-tid job-A job-B
 */
public class NativeAttach {
    static volatile long sink;

    static {
        System.loadLibrary("native_attach");
    }

    /** Starts the kernel thread, waits for its end, prints what it measured. */
    static native void run(int rounds, long firstNs, long secondNs, long gapNs);

    /** Until the kernel has charged so much to this thread. */
    static native void burn(long ns);

    static void work(long ns) {
        sink = leaf() + 1;
        burn(ns);
    }

    static long leaf() {
        return sink;
    }

    public static void main(String[] args) {
        long[] given = {1, 60_000, 60_000, 50_000};
        for (int i = 0; i < args.length; i++) {
            given[i] = Long.parseLong(args[i]);
        }
        run((int) given[0], given[1] * 1000, given[2] * 1000, given[3] * 1000);
        System.out.println("done");
    }
}
