/*
 * An uncaught exception ends main: exit status 1. Another thread is still at work and finishes.
 *
 * Expected:
 *   exit 1
 *   thread main
 *     1 UncaughtInMain.<clinit>
 *     1 UncaughtInMain.main
 *       1 UncaughtInMain.<init>
 *       1 UncaughtInMain.down * 4
 *   thread survivor from main
 *     1 UncaughtInMain.run
 *       1000 UncaughtInMain.step
 */
public class UncaughtInMain implements Runnable {
    static final Thread mainThread = Thread.currentThread();

    static void step() {
    }

    static void down(int n) {
        if (n == 0) {
            throw new IllegalStateException("uncaught");
        }
        down(n - 1);
    }

    @Override
    public void run() {
        try {
            mainThread.join();
        } catch (InterruptedException e) {
            return;
        }
        for (int i = 0; i < 1000; i++) {
            step();
        }
        System.out.println("survived");
    }

    public static void main(String[] args) {
        new Thread(new UncaughtInMain(), "survivor").start();
        down(3);
    }
}
