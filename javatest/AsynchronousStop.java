/*
 * Threads that are stopped wherever they are, in a recursion that never ends: Thread.stop throws a
 * ThreadDeath at any of their instructions, before, in and behind hooks. Where it is caught, calls must
 * hang where they are made. (From JDK 20 on Thread.stop only throws an exception of its own; there the
 * threads throw theirs themselves.)
 *
 * Expected:
 *   skip AsynchronousStop.dig
 *   resynchronises
 *   thread main
 *     1 AsynchronousStop.main
 *       200 AsynchronousStop.<init>
 *       200 AsynchronousStop.stop
 *   threads 200 victim from main
 *     1 AsynchronousStop.run
 *       3 AsynchronousStop.before
 *       1 AsynchronousStop.caught
 *       2 AsynchronousStop.after
 */
public class AsynchronousStop implements Runnable {
    volatile boolean digs;
    volatile boolean ends;

    static void before() {
    }

    static void caught() {
    }

    static void after() {
    }

    /** Up and down, for ever. */
    int dig(int depth) {
        digs = true;
        if (ends) {
            throw new ThreadDeath();
        }
        for (int up = depth; up < 8; up++) {
            dig(up + 1);
        }
        return depth > 0 ? depth : dig(0);
    }

    @Override
    public void run() {
        for (int i = 0; i < 3; i++) {
            before();
        }
        try {
            while (!Thread.interrupted()) {
                try {
                    dig(1);
                } finally {
                    digs = false;
                }
            }
        } catch (ThreadDeath e) {
            caught();
        }
        after();
        after();
    }

    @SuppressWarnings({"deprecation", "removal"})
    void stop(Thread victim) {
        try {
            victim.stop();
        } catch (UnsupportedOperationException e) {
            ends = true;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            AsynchronousStop job = new AsynchronousStop();
            Thread victim = new Thread(job, "victim");
            victim.start();
            while (!job.digs) {
                Thread.onSpinWait();
            }
            job.stop(victim);
            victim.join();
        }
        System.out.println("stopped");
    }
}
