/*
 * The stack of a virtual thread overflows, from different depths, and is caught where level() stands; it naps before
 * and after, so that it is not always on the same carrier. How deep down() gets nobody can know on paper, so the
 * program counts: the first thing down() does is to add one.
 *
 * level(n) is n frames below the first one when it overflows: overflow(0), (10), (0).
 *
 * Expected:
 *   java -Xss400k
 *   skip VirtualOverflow.down
 *   thread main
 *     1 VirtualOverflow.main
 *   virtual overflows from main
 *     1 VirtualOverflow.run
 *       3 VirtualOverflow.level
 *         3 VirtualOverflow.nap
 *         2 VirtualOverflow.caught
 *         2 VirtualOverflow.after
 *           2 VirtualOverflow.nap
 *         1 VirtualOverflow.level * 10
 *           1 VirtualOverflow.nap
 *           1 VirtualOverflow.caught
 *           1 VirtualOverflow.after
 *             1 VirtualOverflow.nap
 *       3 VirtualOverflow.after
 *         3 VirtualOverflow.nap
 */
public class VirtualOverflow {
    static int entered;

    /** Many parameters make a large frame, and so a tree that is not deeper than it must be. */
    static long down(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
        entered++;
        return 1 + down(b, c, d, e, f, g, h, i, a);
    }

    static void nap() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void level(int n) {
        if (n == 0 || n == 10) {
            nap();
        }
        if (n > 0) {
            level(n - 1);
            return;
        }
        try {
            down(1, 2, 3, 4, 5, 6, 7, 8, 9);
        } catch (StackOverflowError e) {
            caught();
        }
        after();
    }

    static void caught() {
    }

    static void after() {
        nap();
    }

    static void run() {
        for (int n : new int[] {0, 10, 0}) {
            level(n);
            after();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread.ofVirtual().name("overflows").start(VirtualOverflow::run).join();
        System.out.println("expect total VirtualOverflow.down " + entered);
        System.out.println(entered > 0);
    }
}
