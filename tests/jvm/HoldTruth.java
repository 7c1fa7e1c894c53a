import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Threads that hold locks for which another thread waits, and take the time themselves. At each order `round` each kind
 * of lock has its turn: a thread owns the lock until another one waits for it, and somewhat longer; then the other one
 * owns it. The answer says for each class of locks how often and how long it was held, how often it was acquired, nested
 * acquisitions not counted, and how many nested ones its first owner had, at most, when the other thread waited:
 * `class holds ns acquisitions nested; …`. With virtual threads where the JDK has them.
 */
public class HoldTruth {
    static final int TIMES = 3;
    static final int FIRST_MS = 12;
    static final int SECOND_MS = 7;
    static final int GIVEN_UP_MS = 60;

    /** What the owners of one kind of lock measured. */
    static final class Meter {
        long ns;
        int times;
        long since;

        void begin() {
            since = System.nanoTime();
        }

        void end() {
            ns += System.nanoTime() - since;
            times++;
        }
    }

    static volatile boolean isOwned;
    static volatile boolean isEntered; // by the second owner
    static volatile Thread second;

    abstract static class Lock {
        final Meter meter = new Meter();
        int acquisitions;
        int nestedMost;
        private int depth;

        /** The calling thread has just acquired the lock. */
        void acquired() {
            if (depth++ == 0) {
                acquisitions++;
            }
        }

        /** It is about to release it. */
        void releasing() {
            depth--;
        }

        int nested() {
            return nestedMost;
        }

        String type() {
            return getClass().getName();
        }

        abstract void hold(boolean isFirst) throws Exception;

        void own(boolean isFirst) throws Exception {
            meter.begin();
            if (isFirst) {
                isOwned = true;
                nestedMost = Math.max(nestedMost, depth - 1);
                untilWaitedFor();
            } else {
                isEntered = true;
            }
            Thread.sleep(isFirst ? FIRST_MS : SECOND_MS);
            meter.end();
        }
    }

    static void untilWaitedFor() throws Exception {
        for (;;) {
            Thread.State state = second.getState();
            if (state == Thread.State.BLOCKED || state == Thread.State.WAITING) {
                return;
            }
            Thread.sleep(1);
        }
    }

    static class Block extends Lock {
        @Override
        void hold(boolean isFirst) throws Exception {
            synchronized (this) {
                acquired();
                own(isFirst);
                releasing();
            }
        }
    }

    static class Method extends Lock {
        @Override
        synchronized void hold(boolean isFirst) throws Exception {
            acquired();
            own(isFirst);
            releasing();
        }
    }

    /** The lock is this class, which is a Class. */
    static class Static extends Lock {
        static synchronized void holdClass(Static lock, boolean isFirst) throws Exception {
            lock.acquired();
            lock.own(isFirst);
            lock.releasing();
        }

        @Override
        String type() {
            return "java.lang.Class";
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            holdClass(this, isFirst);
        }
    }

    /** Entered again and again, also while nobody waits; and with another lock inside. */
    static class Recursive extends Lock {
        final Object other = new Object();

        synchronized void again(boolean isFirst) throws Exception {
            acquired();
            synchronized (this) {
                acquired();
                synchronized (other) {
                    own(isFirst);
                }
                releasing();
            }
            releasing();
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            synchronized (this) {
                acquired();
                again(isFirst);
                releasing();
            }
        }
    }

    /** Left by an exception, of a block and of a method. */
    static class Thrown extends Lock {
        void leaveBlock() throws Exception {
            synchronized (this) {
                acquired();
                own(true);
                releasing();
                throw new IllegalArgumentException();
            }
        }

        synchronized void leaveMethod() throws Exception {
            acquired();
            own(false);
            releasing();
            throw new IllegalArgumentException();
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            try {
                if (isFirst) {
                    leaveBlock();
                } else {
                    leaveMethod();
                }
            } catch (IllegalArgumentException e) {
                Thread.onSpinWait();
            }
        }
    }

    /** The first owner gives the lock up for a while, and has it again when nobody waits. */
    static class Waiting extends Lock {
        @Override
        void hold(boolean isFirst) throws Exception {
            synchronized (this) {
                acquired();
                own(isFirst);
                releasing();
                if (isFirst) {
                    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GIVEN_UP_MS);
                    while (System.nanoTime() < until || !isEntered) {
                        wait(GIVEN_UP_MS / 2);
                    }
                }
            }
        }
    }

    static class Reentrant extends Lock {
        final ReentrantLock lock = new ReentrantLock();

        @Override
        String type() {
            return "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            lock();
            try {
                lock();
                unlock();
                lock();
                lock();
                own(isFirst);
                unlock();
                unlock();
            } finally {
                unlock();
            }
        }

        void lock() {
            lock.lock();
            acquired();
        }

        void unlock() {
            releasing();
            lock.unlock();
        }
    }

    static class Conditional extends Lock {
        final ReentrantLock lock = new ReentrantLock(true);
        final Condition condition = lock.newCondition();

        @Override
        String type() {
            return "java.util.concurrent.locks.ReentrantLock$FairSync";
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            lock.lockInterruptibly();
            acquired();
            try {
                own(isFirst);
                if (isFirst) {
                    releasing();
                    condition.await(GIVEN_UP_MS, TimeUnit.MILLISECONDS);
                    acquired();
                }
            } finally {
                releasing();
                lock.unlock();
            }
        }
    }

    static class Write extends Lock {
        final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        String type() {
            return "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync";
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            lock.writeLock().lock();
            acquired();
            try {
                lock.writeLock().lock();
                acquired();
                lock.readLock().lock();
                own(isFirst);
                lock.readLock().unlock();
                releasing();
                lock.writeLock().unlock();
            } finally {
                releasing();
                lock.writeLock().unlock();
            }
        }
    }

    /** The first one reads, again and again; the other one writes, and reads on when it has written. */
    static class Read extends Lock {
        final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);

        @Override
        String type() {
            return "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync";
        }

        @Override
        int nested() {
            return 0; // the owner of a read lock is not known
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            if (isFirst) {
                lock.readLock().lock();
                acquired();
                lock.readLock().tryLock();
                own(true);
                lock.readLock().unlock();
            } else {
                lock.writeLock().lock();
                acquired();
                lock.readLock().lock();
                lock.writeLock().unlock();
                own(false);
            }
            releasing();
            lock.readLock().unlock();
        }
    }

    /** Two permits of two, given back one by one; some are not to be had. */
    static class Permits extends Lock {
        final Semaphore semaphore = new Semaphore(2);

        @Override
        String type() {
            return "java.util.concurrent.Semaphore$NonfairSync";
        }

        @Override
        int nested() {
            return 0;
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            if (semaphore.tryAcquire(3)) {
                throw new IllegalStateException();
            }
            semaphore.acquire(2);
            acquired();
            semaphore.tryAcquire(1, TimeUnit.NANOSECONDS);
            own(isFirst);
            releasing();
            semaphore.release();
            semaphore.release();
        }
    }

    /** The first one reads, then the other one writes, and reads on. */
    static class Stamped extends Lock {
        final StampedLock lock = new StampedLock();

        @Override
        String type() {
            return "java.util.concurrent.locks.StampedLock";
        }

        @Override
        int nested() {
            return 0;
        }

        @Override
        void hold(boolean isFirst) throws Exception {
            lock.validate(lock.tryOptimisticRead());
            long stamp = isFirst ? lock.readLockInterruptibly() : lock.writeLock();
            acquired();
            if (!isFirst) {
                stamp = lock.tryConvertToReadLock(stamp);
            }
            own(isFirst);
            releasing();
            lock.unlock(stamp);
        }
    }

    static void one(Lock lock, boolean isVirtual) throws Exception {
        for (int i = 0; i < TIMES; i++) {
            isOwned = false;
            isEntered = false;
            Thread other = Starts.start("second-" + i, isVirtual, () -> {
                while (!isOwned) {
                    Thread.onSpinWait();
                    Thread.sleep(1);
                }
                second = Thread.currentThread();
                lock.hold(false);
            });
            second = other;
            Thread first = Starts.start("first-" + i, isVirtual, () -> lock.hold(true));
            first.join();
            other.join();
        }
    }

    static final List<Lock> LOCKS = List.of(new Block(), new Method(), new Static(), new Recursive(), new Thrown(),
                                            new Waiting(), new Reentrant(), new Conditional(), new Write(), new Read(), new Permits(),
                                            new Stamped());

    static String round() throws Exception {
        List<String> answers = new ArrayList<>();
        for (Lock lock : LOCKS) {
            lock.meter.ns = 0;
            lock.meter.times = 0;
            lock.acquisitions = 0;
            one(lock, false);
            if (Runtime.version().feature() >= 24) {
                one(lock, true);
            }
            answers.add(lock.type() + " " + lock.meter.times + " " + lock.meter.ns + " " + lock.acquisitions + " "
                        + lock.nested());
        }
        return String.join("; ", answers);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext(); in.next()) {
            System.out.println(round());
        }
    }
}
