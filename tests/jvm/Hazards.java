import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Does one thing that is wrong with locks, or looks so, for each order on standard input, and answers when it is done:
 * of a deadlock of platform threads when the JVM itself has found it, with what the JVM says of each of its threads,
 * `thread lock owner; …`; the JVM finds none with locks that are read. All threads are daemons.
 */
public class Hazards {
    static class A {
    }

    static class B {
    }

    static class C {
    }

    /** A lock: the action runs while it is held. */
    interface Held {
        void with(Starts.Work action) throws Exception;

        /** The same lock, as it is taken by another thread, or once more. */
        default Held again() {
            return this;
        }
    }

    /** Is read first, and then written. */
    static class Read implements Held {
        final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        @Override
        public void with(Starts.Work action) throws Exception {
            lock(lock.readLock()).with(action);
        }

        @Override
        public Held again() {
            return lock(lock.writeLock());
        }
    }

    /** Another thread reads first, and no longer; the lock is read twice. */
    static class ReadLater extends Read {
        @Override
        public void with(Starts.Work action) throws Exception {
            Thread reader = hold(lock(lock.readLock()), "reads-first", 100);
            super.with(() -> super.with(() -> {
                reader.join();
                action.run();
            }));
        }
    }

    static Held monitor(Object object) {
        return action -> {
            synchronized (object) {
                action.run();
            }
        };
    }

    static Held lock(Lock lock) {
        return action -> {
            lock.lock();
            try {
                action.run();
            } finally {
                lock.unlock();
            }
        };
    }

    static Held of(char kind, Object object) {
        switch (kind) {
            case 'm':
                return monitor(object);
            case 'l':
                return lock(new ReentrantLock());
            case 'w':
                return lock(new ReentrantReadWriteLock().writeLock());
            case 'r':
                return new Read();
            case 's':
                return new ReadLater();
            default:
                throw new IllegalArgumentException("" + kind);
        }
    }

    static Thread start(String name, boolean isVirtual, Starts.Work work) throws Exception {
        if (isVirtual) {
            return Starts.start(name, true, work);
        }
        Thread thread = new Thread(Starts.quietly(work), name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void await(Thread... threads) throws Exception {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    // ---- deadlocks ----

    static void takeBoth(Held first, Held second, CyclicBarrier all) throws Exception {
        first.with(() -> {
            all.await();
            second.with(() -> { });
        });
    }

    /**
     * What the JVM says of deadlocked threads whose names begin so. It looks twice: one that is awake for a moment,
     * for nothing, at the second look has no lock then, and is left out.
     */
    static List<String> found(String name) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        long[] ids = bean.findDeadlockedThreads();
        List<String> found = new ArrayList<>();
        if (ids != null) {
            for (ThreadInfo info : bean.getThreadInfo(ids)) {
                if (info != null && info.getThreadName().startsWith(name + "-") && info.getLockName() != null) {
                    found.add(info.getThreadName() + " " + info.getLockName() + " " + info.getLockOwnerName());
                }
            }
        }
        return found;
    }

    /** kinds: a lock each, of which thread i takes the i-th one and then the next one. */
    static String deadlock(String name, String kinds, boolean isVirtual) throws Exception {
        int count = kinds.length();
        Object[] objects = {new A(), new B(), new C()};
        Held[] locks = new Held[count];
        CyclicBarrier all = new CyclicBarrier(count);
        for (int i = 0; i < count; i++) {
            locks[i] = of(kinds.charAt(i), objects[i]);
        }
        for (int i = 0; i < count; i++) {
            Held first = locks[i];
            Held second = locks[(i + 1) % count].again();
            start(name + "-" + i, isVirtual, () -> takeBoth(first, second, all));
        }
        if (isVirtual || kinds.contains("r") || kinds.contains("s")) {
            return "done";
        }
        List<String> found = found(name);
        while (found.size() < count) {
            Thread.sleep(1);
            found = found(name);
        }
        return String.join("; ", found);
    }

    static void untilQueued(ReentrantReadWriteLock lock, Thread thread) throws Exception {
        while (!lock.hasQueuedThread(thread)) {
            Thread.sleep(1);
        }
    }

    /** Thread 0 reads, 1 is about to write, 2 about to read behind it with what 0 is about to take. */
    static void queueBehind(String name, boolean isVirtual) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Held read = lock(lock.readLock());
        Held a = monitor(new A());
        CountDownLatch isRead = new CountDownLatch(1);
        CountDownLatch isTaken = new CountDownLatch(1);
        start(name + "-0", isVirtual, () -> read.with(() -> {
            isRead.countDown();
            isTaken.await();
            a.with(() -> { });
        }));
        isRead.await();
        Thread writer = start(name + "-1", isVirtual, () -> lock(lock.writeLock()).with(() -> { }));
        untilQueued(lock, writer);
        start(name + "-2", isVirtual, () -> a.with(() -> {
            isTaken.countDown();
            read.with(() -> { });
        }));
    }

    /** One thread waits for two that read: the second one waits for it, the first one for nobody, for long. */
    static void waitForOneOfTwo(String name, boolean isVirtual) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Held a = monitor(new A());
        CountDownLatch never = new CountDownLatch(1);
        CyclicBarrier all = new CyclicBarrier(3);
        start("reads-" + name, isVirtual, () -> lock(lock.readLock()).with(() -> {
            all.await();
            never.await();
        }));
        start(name + "-0", isVirtual, () -> lock(lock.readLock()).with(() -> {
            all.await();
            a.with(() -> { });
        }));
        start(name + "-1", isVirtual, () -> a.with(() -> {
            all.await();
            lock(lock.writeLock()).with(() -> { });
        }));
    }

    /**
     * Threads that wait for readers who wait for nobody, have ended, or have given the lock back, and then wait for
     * those that wait.
     */
    static void waitForReaders(String name, boolean isVirtual) throws Exception {
        ReentrantReadWriteLock gone = new ReentrantReadWriteLock();
        start(name + "-gone", isVirtual, gone.readLock()::lock).join();
        untilQueued(gone, start(name + "-0", isVirtual, gone.writeLock()::lock));

        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Held a = monitor(new A());
        CountDownLatch isRead = new CountDownLatch(2);
        CountDownLatch isReadByThird = new CountDownLatch(1);
        CountDownLatch isWaitedFor = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 1; i < 3; i++) {
            start(name + "-" + i, isVirtual, () -> {
                for (int times = 0; times < 2; times++) {
                    lock.readLock().lock();
                }
                isRead.countDown();
                isReadByThird.await();
                for (int times = 0; times < 2; times++) {
                    lock.readLock().unlock();
                }
                isWaitedFor.await();
                a.with(() -> { });
            });
        }
        isRead.await();
        start(name + "-reads", isVirtual, () -> lock(lock.readLock()).with(() -> {
            isReadByThird.countDown();
            never.await();
        }));
        isReadByThird.await();
        Thread writer = start(name + "-3", isVirtual, () -> a.with(() -> {
            isWaitedFor.countDown();
            lock(lock.writeLock()).with(() -> { });
        }));
        untilQueued(lock, writer);
        start(name + "-4", isVirtual, () -> lock(lock.readLock()).with(() -> { }));
        start(name + "-5", isVirtual, () -> lock(lock.writeLock()).with(() -> { }));
    }

    /** Each writer waits for all readers, who wait for nobody in particular. */
    static void waitForMany(String name, int writers, int readers) throws Exception {
        List<ReentrantReadWriteLock> locks = new ArrayList<>();
        Held a = monitor(new A());
        CountDownLatch isHeld = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        CountDownLatch areRead = new CountDownLatch(readers);
        for (int i = 0; i < writers; i++) {
            locks.add(new ReentrantReadWriteLock());
        }
        start(name + "-holds", false, () -> a.with(() -> {
            isHeld.countDown();
            never.await();
        }));
        isHeld.await();
        for (int i = 0; i < readers; i++) {
            start(name + "-reads-" + i, false, () -> {
                locks.forEach(lock -> lock.readLock().lock());
                areRead.countDown();
                a.with(() -> { });
            });
        }
        areRead.await();
        for (int i = 0; i < writers; i++) {
            start(name + "-writes-" + i, false, locks.get(i).writeLock()::lock);
        }
    }

    // ---- waits that a budget has no room for ----

    static void pass(Starts.Work work) throws Exception {
        while (true) {
            work.run();
        }
    }

    /** Two threads hand each other something, as fast as they can, for ever. */
    static void makeNoise() throws Exception {
        SynchronousQueue<Object> queue = new SynchronousQueue<>();
        start("noise-0", false, () -> pass(() -> queue.put(queue)));
        start("noise-1", false, () -> pass(queue::take));
    }

    // ---- what is none ----

    static Thread hasty;
    static Thread patient;

    /** Two threads wait for each other, but one of them for some time only. */
    static String tryBoth() throws Exception {
        ReentrantLock a = new ReentrantLock();
        ReentrantLock b = new ReentrantLock();
        CyclicBarrier all = new CyclicBarrier(2);
        patient = start("try-patient", false, () -> takeBoth(lock(a), lock(b), all));
        hasty = start("try-hasty", false, () -> lock(b).with(() -> {
            all.await();
            try {
                a.tryLock(1, TimeUnit.HOURS);
            } catch (InterruptedException e) {
                Thread.onSpinWait();
            }
        }));
        while (found("try").size() < 2) {
            Thread.sleep(1);
        }
        return String.join("; ", found("try"));
    }

    static void giveUp() throws Exception {
        hasty.interrupt();
        await(hasty, patient);
    }

    /** Threads that hold a lock and wait for another one, for long, while both pass from hand to hand. */
    static void handOver() throws Exception {
        Object a = new A();
        ReentrantLock b = new ReentrantLock();
        Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            boolean takesBoth = i % 2 == 1;
            threads[i] = start("chain-" + i, false, () -> {
                for (int times = 0; times < 5; times++) {
                    Starts.Work inner = () -> lock(b).with(() -> Thread.sleep(60));
                    if (takesBoth) {
                        monitor(a).with(inner);
                    } else {
                        inner.run();
                    }
                }
            });
        }
        await(threads);
    }

    // ---- orders, priorities, queues ----

    static void inOrder(Held first, Held second) throws Exception {
        first.with(() -> second.with(() -> Thread.sleep(20)));
    }

    /** Both orders, one after the other: nothing happens. */
    static void bothOrders(Held gate, String name) throws Exception {
        Held a = monitor(new A());
        Held b = monitor(new B());
        await(start(name + "-forward", false, () -> gate.with(() -> inOrder(a, b))));
        await(start(name + "-backward", false, () -> gate.with(() -> inOrder(b, a))));
    }

    static final Held GATE = lock(new ReentrantLock());
    static final Map<String, Held[]> PAIRS = new HashMap<>();

    static Thread hold(Held lock, String name, int ms) throws Exception {
        CountDownLatch isHeld = new CountDownLatch(1);
        Thread holder = start(name, false, () -> lock.with(() -> {
            isHeld.countDown();
            Thread.sleep(ms);
        }));
        isHeld.await();
        return holder;
    }

    /** Both orders, one after the other, and each time the second lock is a third thread's for a while. */
    static void contendedOrders(String name, String kinds, Held gate) throws Exception {
        Held[] locks = PAIRS.computeIfAbsent(name + kinds,
                any -> new Held[] {of(kinds.charAt(0), new A()), of(kinds.charAt(1), new B())});
        for (int i = 0; i < 2; i++) {
            Held first = locks[i];
            Held second = locks[1 - i];
            Thread gateHolder = hold(gate, name + "-gate", 20);
            Thread third = hold(second, name + "-third", 80);
            await(start(name + (i == 0 ? "-forward" : "-backward"), false,
                    () -> gate.with(() -> inOrder(first, second))), third, gateHolder);
        }
    }

    static final ReentrantReadWriteLock READ_GATE = new ReentrantReadWriteLock();
    static final Object FIRST = new A();
    static final Object SECOND = new B();

    /** The same two monitors in both orders, one after the other. Nobody waits for the gate. */
    static void guardedOrders(Held gate, String name) throws Exception {
        await(start(name + "-forward", false, () -> gate.with(() -> inOrder(monitor(FIRST), monitor(SECOND)))));
        await(start(name + "-backward", false, () -> gate.with(() -> inOrder(monitor(SECOND), monitor(FIRST)))));
    }

    static Thread ranked(String name, int priority, Starts.Work work) throws Exception {
        Thread thread = new Thread(Starts.quietly(work), name + "-" + priority);
        thread.setPriority(priority);
        return thread;
    }

    /** A thread of one priority holds a lock that a thread of another one waits for. */
    static void wait(String name, int holder, int waiter) throws Exception {
        Held lock = monitor(new A());
        CyclicBarrier both = new CyclicBarrier(2);
        Thread waits = ranked(name, waiter, () -> {
            both.await();
            lock.with(() -> { });
        });
        Thread holds = ranked(name, holder, () -> lock.with(() -> {
            both.await();
            while (waits.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(100);
        }));
        waits.start();
        holds.start();
        await(waits, holds);
    }

    static final int TURNS = 3000;
    static volatile int turns;

    /** Four threads queue for most of the program's time. How long a turn took in the mean, in ns. */
    static long queue() throws Exception {
        Object a = new A();
        Thread[] threads = new Thread[4];
        long begin = System.nanoTime();
        long end = begin + 3 * 1_000_000L * ManagementFactory.getRuntimeMXBean().getUptime();
        for (int i = 0; i < threads.length; i++) {
            threads[i] = start("queue-" + i, false, () -> {
                while (System.nanoTime() < end || turns < TURNS) {
                    synchronized (a) {
                        turns++;
                        LockSupport.parkNanos(200_000);
                    }
                    LockSupport.parkNanos(100_000);
                }
            });
        }
        await(threads);
        return (System.nanoTime() - begin) / turns;
    }

    static String act(String[] order) throws Exception {
        switch (order[0]) {
            case "deadlock":
                return deadlock(order[1], order[2], order.length > 3);
            case "behind":
                queueBehind(order[1], order.length > 2);
                return "done";
            case "one-of-two":
                waitForOneOfTwo(order[1], order.length > 2);
                return "done";
            case "readers":
                waitForReaders(order[1], order.length > 2);
                return "done";
            case "many":
                waitForMany(order[1], Integer.parseInt(order[2]), Integer.parseInt(order[3]));
                return "done";
            case "noise":
                makeNoise();
                return "done";
            case "try":
                return tryBoth();
            case "give-up":
                giveUp();
                return "done";
            case "hand-over":
                handOver();
                return "done";
            case "orders":
                bothOrders(action -> action.run(), "free");
                return "done";
            case "contended":
                contendedOrders("free", order[1], action -> action.run());
                return "done";
            case "contended-gated":
                contendedOrders("gated", order[1], GATE);
                return "done";
            case "gated":
                bothOrders(monitor(new C()), "gated");
                return "done";
            case "guarded":
                guardedOrders(GATE, "guarded");
                return "done";
            case "read-guarded":
                Thread writer = hold(lock(READ_GATE.writeLock()), "read-gate", 20);
                await(hold(lock(READ_GATE.readLock()), "reader", 1), writer);
                guardedOrders(lock(READ_GATE.readLock()), "read-guarded");
                return "done";
            case "unguarded":
                guardedOrders(action -> action.run(), "unguarded");
                return "done";
            case "priorities":
                wait("inverted", 2, 8);
                wait("ranked", 8, 2);
                wait("equal", 5, 5);
                return "done";
            case "queue":
                return "turn " + queue();
            default:
                throw new IllegalArgumentException(order[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNextLine();) {
            System.out.println(act(in.nextLine().split(" ")));
        }
        System.exit(0);
    }
}
