/*
 * Uncaught exceptions end two threads, one with a handler of its own; the program goes on.
 *
 * Expected:
 *   thread main
 *     1 UncaughtInThread.main
 *       2 UncaughtInThread.<init>
 *       1 UncaughtInThread$Handler.<init>
 *       1 UncaughtInThread.after
 *   thread dies from main
 *     1 UncaughtInThread.run
 *       1 UncaughtInThread.down * 6
 *   thread "dies handled" from main
 *     1 UncaughtInThread.run
 *       1 UncaughtInThread.down * 6
 *     1 UncaughtInThread$Handler.uncaughtException
 *       1 UncaughtInThread.after
 */
public class UncaughtInThread implements Runnable {
    static class Handler implements Thread.UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable e) {
            after();
            System.out.println(thread.getName() + ": " + e.getMessage());
        }
    }

    static void after() {
    }

    void down(int n) {
        if (n == 0) {
            throw new IllegalStateException("uncaught");
        }
        down(n - 1);
    }

    @Override
    public void run() {
        down(5);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread dies = new Thread(new UncaughtInThread(), "dies");
        dies.start();
        dies.join();
        Thread handled = new Thread(new UncaughtInThread(), "dies handled");
        handled.setUncaughtExceptionHandler(new Handler());
        handled.start();
        handled.join();
        after();
        System.out.println("main goes on");
    }
}
