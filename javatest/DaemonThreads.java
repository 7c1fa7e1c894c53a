/*
 * Daemon threads that are still in deep calls when the program ends: one waits, one runs.
 *
 * Expected:
 *   thread main
 *     1 DaemonThreads.<clinit>
 *     1 DaemonThreads.main
 *       2 DaemonThreads.<init>
 *   thread waits from main
 *     1 DaemonThreads.run
 *       1 DaemonThreads.down * 21
 *         1 DaemonThreads.stay
 *   thread runs from main
 *     1 DaemonThreads.run
 *       1 DaemonThreads.down * 31
 *         1 DaemonThreads.stay
 */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

public class DaemonThreads implements Runnable {
    static final CountDownLatch deep = new CountDownLatch(2);
    static volatile long spun;
    final int depth;
    final boolean spins;

    DaemonThreads(int depth, boolean spins) {
        this.depth = depth;
        this.spins = spins;
    }

    void down(int n) {
        if (n == 0) {
            stay();
        } else {
            down(n - 1);
        }
    }

    void stay() {
        deep.countDown();
        while (true) {
            if (spins) {
                spun++;
            } else {
                LockSupport.park();
            }
        }
    }

    @Override
    public void run() {
        down(depth);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waits = new Thread(new DaemonThreads(20, false), "waits");
        Thread runs = new Thread(new DaemonThreads(30, true), "runs");
        waits.setDaemon(true);
        runs.setDaemon(true);
        waits.start();
        runs.start();
        deep.await();
        System.out.println("end of main");
    }
}
