import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Threads that hold locks which several threads may have at once, by all ways to acquire and to release them, and take
 * the time themselves. At each order `round` each lock has its turn: a thread `NAME-first` holds it until a thread
 * `NAME-second` waits for it, and somewhat longer; then the latter holds it. The answer says for each lock how often and
 * how long it was held, and how often it was acquired: `name identity holds ns acquisitions; …`. At `signals` threads
 * acquire what others release; at `mutex` the same lock is held by whoever acquires it. With virtual threads where the
 * JDK has them.
 */
public class SharedTruth {
    static final int TIMES = 2;
    static final int FIRST_MS = 12;
    static final int SECOND_MS = 7;
    static final int SIGNALS = 40;

    interface Acquire {
        long stamp() throws Exception;
    }

    interface Release {
        void of(long stamp) throws Exception;
    }

    /** What one of the two threads does, with how many acquisitions. */
    record Turn(int acquisitions, Acquire acquire, Release release) {
    }

    static volatile boolean isOwned;
    static volatile Thread second; // once it is about to acquire

    static final class Case {
        final String name;
        final Object lock;
        final Turn first;
        final Turn second;
        private long ns;
        private int holds;
        private int acquisitions;

        Case(String name, Object lock, Turn first, Turn second) {
            this.name = name;
            this.lock = lock;
            this.first = first;
            this.second = second;
        }

        synchronized void note(long heldNs, int times) {
            ns += heldNs;
            holds++;
            acquisitions += times;
        }

        void hold(boolean isFirst) throws Exception {
            Turn turn = isFirst ? first : second;
            long stamp = turn.acquire.stamp();
            long since = System.nanoTime();
            if (isFirst) {
                isOwned = true;
                untilWaitedFor();
            }
            Thread.sleep(isFirst ? FIRST_MS : SECOND_MS);
            note(System.nanoTime() - since, turn.acquisitions);
            turn.release.of(stamp);
        }

        String answer() {
            String answer = name + " " + Integer.toHexString(System.identityHashCode(lock)) + " " + holds + " " + ns + " "
                + acquisitions;
            ns = holds = acquisitions = 0;
            return answer;
        }
    }

    static void untilWaitedFor() throws Exception {
        while (second == null || second.getState() != Thread.State.WAITING && second.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    static void require(boolean condition) {
        if (!condition) {
            throw new IllegalStateException();
        }
    }

    static long required(long stamp) {
        require(stamp != 0);
        return stamp;
    }

    /** What threads park for. */
    static Object sync(Object lock) throws Exception {
        Field field = lock.getClass().getDeclaredField("sync");
        field.setAccessible(true);
        return field.get(lock);
    }

    static void elsewhere(Starts.Work work) throws Exception {
        Thread thread = Starts.start("elsewhere", false, work);
        thread.join();
    }

    // ---- permits ----

    /** Acquired in two parts and released in others. */
    static Case counted() throws Exception {
        Semaphore semaphore = new Semaphore(3);
        return new Case("counted", sync(semaphore), new Turn(2, () -> {
            semaphore.acquire();
            semaphore.acquire(2);
            return 0;
        }, stamp -> {
            semaphore.release(2);
            semaphore.release();
        }), new Turn(1, () -> {
            require(semaphore.tryAcquire(3, 1, TimeUnit.MINUTES));
            return 0;
        }, stamp -> semaphore.release(3)));
    }

    static Case drained() throws Exception {
        Semaphore semaphore = new Semaphore(3, true);
        return new Case("drained", sync(semaphore), new Turn(1, () -> {
            int permits = semaphore.drainPermits();
            require(permits == 3 && semaphore.drainPermits() == 0);
            return permits;
        }, stamp -> semaphore.release((int) stamp)), new Turn(1, () -> {
            semaphore.acquireUninterruptibly(2);
            return 0;
        }, stamp -> semaphore.release(2)));
    }

    /** What one thread has acquired and another one has released is over. */
    static Case released() throws Exception {
        Semaphore semaphore = new Semaphore(1);
        return new Case("released", sync(semaphore), new Turn(2, () -> {
            semaphore.acquire();
            elsewhere(semaphore::release);
            semaphore.acquire();
            return 0;
        }, stamp -> semaphore.release()), new Turn(1, () -> {
            semaphore.acquire();
            return 0;
        }, stamp -> semaphore.release()));
    }

    // ---- stamps ----

    static Case views() {
        StampedLock lock = new StampedLock();
        return new Case("views", lock, new Turn(1, () -> {
            lock.asReadLock().lock();
            return 0;
        }, stamp -> lock.asReadLock().unlock()), new Turn(1, () -> {
            lock.asReadWriteLock().writeLock().lockInterruptibly();
            return 0;
        }, stamp -> lock.asWriteLock().unlock()));
    }

    /** One hold, whatever it is converted to. */
    static Case converted() {
        StampedLock lock = new StampedLock();
        return new Case("converted", lock, new Turn(1, () -> {
            long stamp = required(lock.tryConvertToReadLock(lock.tryOptimisticRead()));
            stamp = required(lock.tryConvertToWriteLock(stamp));
            require(lock.tryConvertToWriteLock(stamp) == stamp);
            return required(lock.tryConvertToReadLock(stamp));
        }, lock::unlock), new Turn(1, () -> required(lock.tryConvertToReadLock(lock.writeLock())), lock::unlock));
    }

    /** Written by what was only looked at. */
    static Case written() {
        StampedLock lock = new StampedLock();
        return new Case("written", lock, new Turn(1, () -> {
            long looked = lock.tryOptimisticRead();
            return required(lock.tryConvertToWriteLock(looked));
        }, lock::unlockWrite), new Turn(1, () -> required(lock.tryReadLock(1, TimeUnit.MINUTES)), lock::unlockRead));
    }

    /** Released without a stamp. */
    static Case unlocked() {
        StampedLock lock = new StampedLock();
        return new Case("unlocked", lock, new Turn(1, lock::readLockInterruptibly, stamp -> {
            require(!lock.tryUnlockWrite());
            require(lock.tryUnlockRead());
        }), new Turn(1, lock::writeLock, stamp -> {
            require(!lock.tryUnlockRead());
            require(lock.tryUnlockWrite());
            require(!lock.tryUnlockWrite());
        }));
    }

    /** Released by being looked at only. */
    static Case observed() {
        StampedLock lock = new StampedLock();
        Release observe = stamp -> required(lock.tryConvertToOptimisticRead(stamp));
        return new Case("observed", lock, new Turn(1, () -> required(lock.tryReadLock()), observe),
                        new Turn(1, lock::writeLockInterruptibly, observe));
    }

    /** Read twice by one thread; what it looked at before stays that. */
    static Case nested() {
        StampedLock lock = new StampedLock();
        return new Case("nested", lock, new Turn(2, () -> {
            long looked = required(lock.tryOptimisticRead());
            long stamp = lock.readLock();
            long again = required(lock.tryConvertToReadLock(looked));
            require(lock.tryConvertToOptimisticRead(looked) == looked);
            lock.unlockRead(again);
            return stamp;
        }, lock::unlockRead), new Turn(1, lock::writeLock, lock::unlockWrite));
    }

    /** A thread that reads as well, later and longer than the first one. */
    static final class Companion {
        private final ReentrantReadWriteLock lock;
        private volatile boolean isReading;
        private volatile long sinceNs;
        private Thread thread;

        Companion(ReentrantReadWriteLock lock) {
            this.lock = lock;
        }

        void begin() throws Exception {
            thread = Starts.start("companion", false, () -> {
                lock.readLock().lock();
                sinceNs = System.nanoTime();
                isReading = true;
                while (isReading) {
                    Thread.sleep(1);
                }
                readers.note(System.nanoTime() - sinceNs, 1);
                lock.readLock().unlock();
            });
            while (!isReading) {
                Thread.sleep(1);
            }
        }

        void end() throws Exception {
            isReading = false;
            thread.join();
        }
    }

    static Case readers;

    static Case readers() throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
        Companion companion = new Companion(lock);
        readers = new Case("readers", sync(lock), new Turn(1, () -> {
            lock.readLock().lock();
            companion.begin();
            return 0;
        }, stamp -> {
            lock.readLock().unlock();
            companion.end();
        }), new Turn(1, () -> {
            lock.writeLock().lock();
            return 0;
        }, stamp -> lock.writeLock().unlock()));
        return readers;
    }

    static void one(Case one, boolean isVirtual) throws Exception {
        for (int i = 0; i < TIMES; i++) {
            isOwned = false;
            second = null;
            Thread other = Starts.start(one.name + "-second", isVirtual, () -> {
                while (!isOwned) {
                    Thread.sleep(1);
                }
                second = Thread.currentThread();
                one.hold(false);
            });
            Thread first = Starts.start(one.name + "-first", isVirtual, () -> one.hold(true));
            first.join();
            other.join();
        }
    }

    static String round(List<Case> cases) throws Exception {
        List<String> answers = new ArrayList<>();
        for (Case one : cases) {
            one(one, false);
            if (Runtime.version().feature() >= 24) {
                one(one, true);
            }
            answers.add(one.answer());
        }
        return String.join("; ", answers);
    }

    // ---- a signal ----

    static final Semaphore SIGNAL = new Semaphore(0);

    static void signals() throws Exception {
        SIGNAL.drainPermits();
        Thread waiter = Starts.start("waiter", false, () -> SIGNAL.acquire(1));
        for (int i = 0; i < SIGNALS; i++) {
            while (!SIGNAL.hasQueuedThreads()) {
                Thread.sleep(1);
            }
            SIGNAL.release();
            waiter.join();
            waiter = Starts.start("waiter", false, () -> SIGNAL.acquire(1));
        }
        SIGNAL.release(2); // one of them for those who hold it later
        waiter.join();
    }

    static Case mutex() throws Exception {
        Turn turn = new Turn(1, () -> {
            SIGNAL.acquire();
            return 0;
        }, stamp -> SIGNAL.release());
        return new Case("mutex", sync(SIGNAL), turn, turn);
    }

    public static void main(String[] args) throws Exception {
        List<Case> cases = List.of(counted(), drained(), released(), views(), converted(), written(), unlocked(), observed(),
                                   nested(), readers());
        List<Case> mutex = List.of(mutex());
        SIGNAL.release();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            switch (in.next()) {
                case "round" -> System.out.println(round(cases));
                case "mutex" -> System.out.println(round(mutex));
                default -> {
                    signals();
                    System.out.println("done");
                }
            }
        }
    }
}
