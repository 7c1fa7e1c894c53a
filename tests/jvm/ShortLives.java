import java.util.Scanner;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads with short lives and a hundred calling contexts each, at most as many alive at a time as its argument
 * says. A line of standard input `virtual 20000` runs so many (or `platform` ones), named life-N. When all are
 * over it answers with the calls that they made, by their own count.
 */
public class ShortLives {
    static final long PARK_NS = 1_000_000;
    static final LongAdder CALLS = new LongAdder();

    /**
     * Two walks over a binary tree of calls with a park in between: 1 run, 2 walk, 1 pause; 2 l1, 4 l2, 8 l3 …
     * 64 l6, and as many r1 … r6. Each of its 126 inner paths is another context.
     */
    static class Life implements Runnable {
        int calls;

        int l1() { calls++; return l2() + r2(); }
        int r1() { calls++; return l2() + r2(); }
        int l2() { calls++; return l3() + r3(); }
        int r2() { calls++; return l3() + r3(); }
        int l3() { calls++; return l4() + r4(); }
        int r3() { calls++; return l4() + r4(); }
        int l4() { calls++; return l5() + r5(); }
        int r4() { calls++; return l5() + r5(); }
        int l5() { calls++; return l6() + r6(); }
        int r5() { calls++; return l6() + r6(); }
        int l6() { calls++; return 1; }
        int r6() { calls++; return 1; }

        int walk() {
            calls++;
            return l1() + r1();
        }

        void pause() {
            calls++;
            LockSupport.parkNanos(PARK_NS);
        }

        @Override
        public void run() {
            calls++;
            int leaves = walk();
            pause();
            if (leaves + walk() != 128) {
                throw new IllegalStateException();
            }
            CALLS.add(calls);
        }
    }

    static ThreadFactory factory(String kind) throws ReflectiveOperationException {
        return kind.equals("virtual") ? ManyThreads.virtual("life-") : new ManyThreads.Platform("life-");
    }

    static void run(ThreadFactory factory, int count, Thread[] alive) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            int place = i % alive.length;
            if (alive[place] != null) {
                alive[place].join();
            }
            alive[place] = factory.newThread(new Life());
            alive[place].start();
        }
        for (int i = 0; i < alive.length && alive[i] != null; i++) {
            alive[i].join();
            alive[i] = null;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] alive = new Thread[Integer.parseInt(args[0])];
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            run(factory(in.next()), in.nextInt(), alive);
            System.out.println(CALLS.sumThenReset());
        }
    }
}
