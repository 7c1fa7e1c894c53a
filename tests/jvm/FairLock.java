import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that take one fair lock in turns: who has released it waits at once for the one that gets it next. Prints
 * `expect waiter owner times` for each two.
 */
public class FairLock {
    static final int THREADS = 4;
    static final int TIMES = 40;
    static final int MS = 3;
    static final ReentrantLock LOCK = new ReentrantLock(true);
    static final int[][] NEXT = new int[THREADS][THREADS]; // guarded by LOCK
    static int last = -1; // ditto

    static void takeTurns(int me) throws InterruptedException {
        for (int i = 0; i < TIMES; i++) {
            LOCK.lock();
            if (last >= 0) {
                NEXT[last][me]++;
            }
            last = me;
            Thread.sleep(MS);
            LOCK.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[THREADS];
        boolean isVirtual = args[0].equals("virtual");
        for (int i = 0; i < THREADS; i++) {
            int me = i;
            threads[i] = Starts.start("turn-" + i, isVirtual, () -> takeTurns(me));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (int i = 0; i < THREADS; i++) {
            for (int k = 0; k < THREADS; k++) {
                if (i != k) {
                    System.out.println("expect turn-" + i + " turn-" + k + " " + NEXT[i][k]);
                }
            }
        }
    }
}
