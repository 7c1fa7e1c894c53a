import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Two hundred virtual threads that work all the time, in the middle of which the agent comes and goes: they sleep,
 * park for one another, contend for locks, throw after a nap, and start threads of their own. Each result is
 * compared with what it must be. Ten more stand deep in calls and wait: `rounds N` has each of them make N rounds.
 * `count N` starts N threads that make one round each, and waits for their end; `check` says how much was done and
 * whether all of it was right.
 */
public class Middle {
    static final int BUSY = 200;
    static final int LED = 10;
    static final int DEPTH = 20;

    static final AtomicLong WRONG = new AtomicLong();
    static final List<Throwable> FAILED = new ArrayList<>();
    static volatile boolean over;

    static void nap(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void right(boolean right) {
        if (!right) {
            WRONG.incrementAndGet();
        }
    }

    // ---- what is counted ----

    static synchronized int guarded(int n) {
        return leaf(n);
    }

    static int leaf(int n) {
        return n + 1;
    }

    static int naps(int n) {
        nap(1);
        return leaf(n);
    }

    static int fails(int depth) {
        if (depth == 0) {
            nap(1);
            throw new IllegalStateException("counted");
        }
        return fails(depth - 1);
    }

    static int catches() {
        try {
            return fails(2);
        } catch (IllegalStateException e) {
            return e.getMessage().length();
        }
    }

    /** 11. */
    static int round() {
        return guarded(0) + naps(1) + catches() + leaf(0);
    }

    static int rounds(int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += round();
        }
        return sum;
    }

    // ---- what is not ----

    static class Busy {
        static final ReentrantLock LOCK = new ReentrantLock();
        static long underLock;
        static long inMonitor;

        final int number;
        Busy other;
        Thread thread;
        volatile long turns;
        volatile long steps;

        Busy(int number) {
            this.number = number;
        }

        static int fibonacci(int n) {
            return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
        }

        void sleeps() {
            nap(20);
            right(fibonacci(8) == 21);
        }

        /** The partner is to do the same: none is two turns ahead. */
        void parks() {
            long mine = turns + 1;
            turns = mine;
            LockSupport.unpark(other.thread);
            while (other.turns < mine && !over) {
                LockSupport.park();
            }
            right(over || other.turns - mine <= 1);
            nap(10);
        }

        void locks() {
            LOCK.lock();
            try {
                underLock++;
                Thread.yield();
            } finally {
                LOCK.unlock();
            }
            synchronized (Busy.class) {
                inMonitor++;
                if (inMonitor % 100 == 0) {
                    nap(1);
                }
            }
            nap(20);
        }

        int thrower(int n) {
            if (n == 0) {
                nap(20);
                throw new IllegalStateException();
            }
            try {
                return thrower(n - 1);
            } finally {
                right(fibonacci(3) == 2);
            }
        }

        void catcher() {
            try {
                thrower(20);
                right(false);
            } catch (IllegalStateException e) {
                right(e.getMessage() == null);
            }
        }

        void starts() {
            int[] result = new int[1];
            Thread child = Thread.ofVirtual().name("child-" + number).start(() -> result[0] = child());
            try {
                child.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            right(result[0] == 55);
            nap(100);
        }

        static int child() {
            nap(1);
            return fibonacci(10);
        }

        void work() {
            if (number < 60) {
                sleeps();
            } else if (number < 120) {
                parks();
            } else if (number < 160) {
                locks();
            } else if (number < 195) {
                catcher();
            } else {
                starts();
            }
        }

        void run() {
            try {
                for (; !over; steps++) {
                    work();
                }
            } catch (Throwable e) {
                synchronized (FAILED) {
                    FAILED.add(e);
                }
            } finally {
                LockSupport.unpark(other.thread);
            }
        }

        static void lockSums(List<Busy> all) {
            long steps = 0;
            for (Busy busy : all.subList(120, 160)) {
                steps += busy.steps;
            }
            right(underLock == steps && inMonitor == steps);
        }
    }

    static class Led implements Runnable {
        final Semaphore told = new Semaphore(0);
        final Semaphore done = new Semaphore(0);
        volatile int count;
        volatile int sum;

        void down(int n) {
            if (n > 1) {
                down(n - 1);
                return;
            }
            for (told.acquireUninterruptibly(); count >= 0; told.acquireUninterruptibly()) {
                sum += rounds(count);
                done.release();
            }
        }

        @Override
        public void run() {
            down(DEPTH);
        }
    }

    static int leadAll(List<Led> all, int count) {
        int sum = 0;
        for (Led led : all) {
            led.count = count;
            led.told.release();
        }
        for (Led led : all) {
            led.done.acquireUninterruptibly();
            sum += led.sum;
        }
        return sum;
    }

    static int started;

    static int startAll(int count) throws InterruptedException {
        int[] sums = new int[count];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int mine = i;
            threads.add(Thread.ofVirtual().name("counted-" + started++).start(() -> sums[mine] = rounds(1)));
        }
        int sum = 0;
        for (int i = 0; i < count; i++) {
            threads.get(i).join();
            sum += sums[i];
        }
        return sum;
    }

    static List<Busy> startBusy() {
        List<Busy> all = new ArrayList<>();
        for (int i = 0; i < BUSY; i++) {
            Busy busy = new Busy(i);
            busy.thread = Thread.ofVirtual().name("busy-" + i).unstarted(busy::run);
            all.add(busy);
        }
        for (Busy busy : all) {
            busy.other = all.get(busy.number ^ 1);
        }
        for (Busy busy : all) {
            busy.thread.start();
        }
        return all;
    }

    static String state(List<Busy> all) {
        long least = Long.MAX_VALUE;
        for (Busy busy : all) {
            least = Math.min(least, busy.steps);
        }
        return "wrong " + WRONG + " failed " + FAILED + " steps " + least;
    }

    public static void main(String[] args) throws Exception {
        List<Busy> busy = startBusy();
        List<Led> led = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < LED; i++) {
            led.add(new Led());
            threads.add(Thread.ofVirtual().name("led-" + i).start(led.get(i)));
        }
        leadAll(led, 1);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            String command = in.next();
            if (command.equals("rounds")) {
                System.out.println("sum " + leadAll(led, in.nextInt()));
            } else if (command.equals("count")) {
                System.out.println("sum " + startAll(in.nextInt()));
            } else {
                System.out.println(state(busy));
            }
        }
        over = true;
        for (Busy one : busy) {
            LockSupport.unpark(one.thread);
            one.thread.join();
        }
        for (Led one : led) {
            one.count = -1;
            one.told.release();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Busy.lockSums(busy);
        System.out.println("wrong " + WRONG + " failed " + FAILED);
    }
}
