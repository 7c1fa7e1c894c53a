import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * THREADS short threads, some hundred at a time, virtual ones where the JDK has them and `virtual` is the argument: each
 * parks for a while, and holds a lock that all of them share. They take the time themselves: `expect park NS`, `expect
 * hold NS`.
 */
public class ManyWaits {
    static final int THREADS = 24_000;
    static final int AT_A_TIME = 400;
    static final int PARK_US = 20_000;
    static final int HOLD_US = 20;

    static final ReentrantLock LOCK = new ReentrantLock();
    static long parkedNs; // by the owner of LOCK, as the next two
    static long heldNs;

    static void live() {
        long since = System.nanoTime();
        long until = since + PARK_US * 1000L;
        while (System.nanoTime() < until) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
        long parked = System.nanoTime() - since;
        LOCK.lock();
        long held = System.nanoTime();
        try {
            parkedNs += parked;
            while (System.nanoTime() - held < HOLD_US * 1000L) {
                Thread.onSpinWait();
            }
        } finally {
            heldNs += System.nanoTime() - held;
            LOCK.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        boolean isVirtual = args.length > 0 && args[0].equals("virtual");
        Semaphore room = new Semaphore(AT_A_TIME);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            room.acquire();
            threads.add(Starts.start("waits-" + i, isVirtual, () -> {
                live();
                room.release();
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("expect park " + parkedNs);
        System.out.println("expect hold " + heldNs);
    }
}
