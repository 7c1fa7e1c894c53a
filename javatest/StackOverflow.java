/*
 * The stack overflows five times in one thread, from different depths, and is caught where level()
 * stands; after it, calls must hang where they are made. How deep down() gets nobody can know on
 * paper, so the program counts: the first thing down() does is to add one.
 *
 * level(n) is n frames below the first one when it overflows: overflow(0), (10), (20), (5), (0).
 *
 * Expected:
 *   java -Xss400k
 *   skip StackOverflow.down
 *   thread main
 *     1 StackOverflow.main
 *       5 StackOverflow.level
 *         2 StackOverflow.caught
 *         2 StackOverflow.after
 *         3 StackOverflow.level * 5
 *           1 StackOverflow.caught
 *           1 StackOverflow.after
 *           2 StackOverflow.level * 5
 *             1 StackOverflow.caught
 *             1 StackOverflow.after
 *             1 StackOverflow.level * 10
 *               1 StackOverflow.caught
 *               1 StackOverflow.after
 *       5 StackOverflow.after
 */
public class StackOverflow {
    static int entered;

    /** Many parameters make a large frame, and so a tree that is not deeper than it must be. */
    static long down(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
        entered++;
        return 1 + down(b, c, d, e, f, g, h, i, a);
    }

    static void level(int n) {
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
    }

    public static void main(String[] args) {
        for (int n : new int[] {0, 10, 20, 5, 0}) {
            level(n);
            after();
        }
        System.out.println("expect total StackOverflow.down " + entered);
        System.out.println(entered > 0);
    }
}
