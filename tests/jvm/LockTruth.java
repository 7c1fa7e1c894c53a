import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that wait for locks whose owners are known, and take the time themselves. At each order `round` each kind of
 * lock has its turn, with threads of its own; the answer says for each waiting thread for whom it waited, for what, how
 * long and how often: `waiter holder class ns times; …`, with `-` for a lock without an owner. With virtual threads
 * where the JDK has them.
 */
public class LockTruth {
    static final int TIMES = 5;
    static final int MS = 20;

    static volatile int told; // the lock is owned for the n-th time
    static volatile int done; // entries by all waiters together

    static class Plain {
    }

    static class Recursive {
    }

    static class Thrown {
    }

    static class Crowd {
    }

    static class Kept {
    }

    /** Waited for first: what runs for the first time in a wait is not to be in what the others measure. */
    static class Warm {
    }

    static final Kept KEPT = new Kept(); // by main, from the beginning to the end

    static boolean hasVirtualThreads() {
        return Runtime.version().feature() >= 24;
    }

    static void untilTold(int number) throws InterruptedException {
        while (told < number) {
            Thread.sleep(1);
        }
    }

    static void untilDone(int number) throws InterruptedException {
        while (done < number) {
            Thread.sleep(1);
        }
    }

    static synchronized void countDone() {
        done++;
    }

    // ---- the locks: each with a way to hold it and one to enter it ----

    abstract static class Lock {
        String type = "-";
        boolean isOwned = true;

        abstract void hold(Starts.Work during) throws Exception;

        abstract void enter(Starts.Work during) throws Exception;
    }

    static class PlainLock extends Lock {
        final Object monitor;

        PlainLock(Object monitor) {
            this.monitor = monitor;
            type = monitor.getClass().getName();
        }

        @Override
        void hold(Starts.Work during) throws Exception {
            synchronized (monitor) {
                during.run();
            }
        }

        @Override
        void enter(Starts.Work during) throws Exception {
            synchronized (monitor) {
                during.run();
            }
        }
    }

    static class RecursiveLock extends PlainLock {
        RecursiveLock() {
            super(new Recursive());
        }

        @Override
        void hold(Starts.Work during) throws Exception {
            synchronized (monitor) {
                synchronized (monitor) {
                    super.hold(during);
                }
            }
        }
    }

    /** Both are left by an exception. */
    static class ThrownLock extends PlainLock {
        ThrownLock() {
            super(new Thrown());
        }

        void leave(Starts.Work during) throws Exception {
            synchronized (monitor) {
                during.run();
                throw new IllegalArgumentException();
            }
        }

        @Override
        void hold(Starts.Work during) throws Exception {
            try {
                leave(during);
            } catch (IllegalArgumentException e) {
                Thread.onSpinWait();
            }
        }

        @Override
        void enter(Starts.Work during) throws Exception {
            hold(during);
        }
    }

    static class Reentrant extends Lock {
        final ReentrantLock lock = new ReentrantLock();

        Reentrant() {
            type = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        }

        @Override
        void hold(Starts.Work during) throws Exception {
            lock.lock();
            try {
                during.run();
            } finally {
                lock.unlock();
            }
        }

        @Override
        void enter(Starts.Work during) throws Exception {
            hold(during);
        }
    }

    static class Permits extends Lock {
        final Semaphore semaphore = new Semaphore(1);

        Permits() {
            type = "java.util.concurrent.Semaphore$NonfairSync";
            isOwned = false;
        }

        @Override
        void hold(Starts.Work during) throws Exception {
            semaphore.acquire();
            try {
                during.run();
            } finally {
                semaphore.release();
            }
        }

        @Override
        void enter(Starts.Work during) throws Exception {
            hold(during);
        }
    }

    // ---- a round ----

    /** What one waiting thread measured. */
    static final class Meter {
        long ns;
        int times;
    }

    static void own(Lock lock, int waiters) throws Exception {
        for (int i = 1; i <= TIMES; i++) {
            int number = i;
            lock.hold(() -> {
                told = number;
                Thread.sleep(MS);
            });
            untilDone(i * waiters);
        }
    }

    static void waitFor(Lock lock, Meter meter, int waiters) throws Exception {
        for (int i = 1; i <= TIMES; i++) {
            untilTold(i);
            long since = System.nanoTime();
            lock.enter(() -> {
                meter.ns += System.nanoTime() - since;
                meter.times++;
            });
            countDone();
            untilDone(i * waiters);
        }
    }

    static void one(List<String> answers, String name, boolean isVirtual, Lock lock, int waiters) throws Exception {
        List<Thread> threads = new ArrayList<>();
        Meter[] meters = new Meter[waiters];
        told = 0;
        done = 0;
        for (int i = 0; i < waiters; i++) {
            Meter meter = new Meter();
            meters[i] = meter;
            threads.add(Starts.start(name + "-waiter-" + i, isVirtual, () -> waitFor(lock, meter, waiters)));
        }
        threads.add(Starts.start(name + "-holder", isVirtual, () -> own(lock, waiters)));
        for (Thread thread : threads) {
            thread.join();
        }
        for (int i = 0; i < waiters; i++) {
            answers.add(name + "-waiter-" + i + " " + (lock.isOwned ? name + "-holder" : "-") + " " + lock.type + " "
                        + meters[i].ns + " " + meters[i].times);
        }
    }

    static String round(int number) throws Exception {
        List<String> answers = new ArrayList<>();
        for (boolean isVirtual : hasVirtualThreads() ? new boolean[] {false, true} : new boolean[] {false}) {
            String kind = (isVirtual ? "virtual-" : "platform-") + number + "-";
            for (Lock lock : new Lock[] {new PlainLock(new Warm()), new Reentrant(), new Permits()}) {
                one(new ArrayList<>(), kind + "warm", isVirtual, lock, 1);
            }
            one(answers, kind + "plain", isVirtual, new PlainLock(new Plain()), 1);
            one(answers, kind + "recursive", isVirtual, new RecursiveLock(), 1);
            one(answers, kind + "thrown", isVirtual, new ThrownLock(), 1);
            one(answers, kind + "reentrant", isVirtual, new Reentrant(), 1);
            one(answers, kind + "permits", isVirtual, new Permits(), 1);
        }
        /* Of several waiters one waits for the others, too: their sum is known only for the holder. */
        one(answers, "crowd-" + number, false, new PlainLock(new Crowd()), 3);
        return String.join("; ", answers);
    }

    static void enterLong() {
        synchronized (KEPT) {
            told = 0;
        }
    }

    public static void main(String[] args) throws Exception {
        synchronized (KEPT) {
            Starts.start("long-waiter", false, LockTruth::enterLong);
            Thread.sleep(300);
            System.out.println("ready");
            int rounds = 0;
            for (Scanner in = new Scanner(System.in); in.hasNext(); in.next()) {
                System.out.println(round(++rounds));
            }
        }
    }
}
