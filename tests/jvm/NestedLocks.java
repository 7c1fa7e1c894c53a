import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;

/** Holds ten Locks, or monitors, at once, each of which another thread waits for, again and again. Prints how often. */
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

    /** Enters the monitors from that one on, and exits them when threads wait for all of them. */
    static void enter(Object[] monitors, int first, Deque<Thread> waiting) throws InterruptedException {
        if (first == LOCKS) {
            for (Thread thread : waiting)
                while (thread.getState() != Thread.State.BLOCKED)
                    Thread.sleep(1);
            return;
        }
        synchronized (monitors[first]) {
            waiting.push(new Thread(() -> wait(monitors[first])));
            waiting.peek().start();
            enter(monitors, first + 1, waiting);
        }
    }

    static void wait(Object monitor) {
        synchronized (monitor) {
            return;
        }
    }

    static void round(Object[] monitors) throws InterruptedException {
        Deque<Thread> waiting = new ArrayDeque<>();

        enter(monitors, 0, waiting);
        for (Thread thread : waiting)
            thread.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        boolean areMonitors = arguments[1].equals("monitors");
        ReentrantLock[] locks = new ReentrantLock[LOCKS];
        Object[] monitors = new Object[LOCKS];
        int rounds = 0;

        for (int i = 0; i < LOCKS; i++) {
            locks[i] = new ReentrantLock();
            monitors[i] = new Object();
        }
        for (; System.nanoTime() < end; rounds++)
            if (areMonitors)
                round(monitors);
            else
                round(locks);
        System.out.println(rounds);
    }
}
