import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;

/** Holds ten Locks at once, each of which another thread waits for, so many times. Prints how often. */
public final class NestedLocks {
    private static final int LOCKS = 10;

    private NestedLocks() {
    }

    static void round(ReentrantLock[] locks) throws InterruptedException {
        Deque<Thread> waiting = new ArrayDeque<>();

        for (int i = 0; i < LOCKS; i++) {
            ReentrantLock lock = locks[i];

            lock.lock();
            waiting.push(new Thread(() -> {
                lock.lock();
                lock.unlock();
            }));
            waiting.peek().start();
        }
        for (Thread thread : waiting)
            while (thread.getState() != Thread.State.WAITING)
                Thread.sleep(1);
        for (int i = LOCKS; i-- > 0;)
            locks[i].unlock();
        for (Thread thread : waiting)
            thread.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        ReentrantLock[] locks = new ReentrantLock[LOCKS];
        int rounds = 0;

        for (int i = 0; i < LOCKS; i++)
            locks[i] = new ReentrantLock();
        for (; System.nanoTime() < end; rounds++)
            round(locks);
        System.out.println(rounds);
    }
}
