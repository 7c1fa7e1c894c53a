/*
 * Native methods: a leaf, one that calls back into Java, one that throws, one through which an
 * exception of the callback passes, one that clears it and goes on, and Java and native in turns.
 *
 * Expected:
 *   thread main
 *     1 NativeCalls.<clinit>
 *     1 NativeCalls.main
 *       5 NativeCalls.add
 *       1 NativeCalls.callBack
 *         7 NativeCalls.called
 *           7 NativeCalls.leaf
 *       2 NativeCalls.caught
 *         2 NativeCalls.throwing
 *         2 NativeCalls.leaf
 *       1 NativeCalls.caughtThrough
 *         1 NativeCalls.passing
 *           1 NativeCalls.fails
 *             1 NativeCalls.throwing
 *         1 NativeCalls.leaf
 *       1 NativeCalls.clearing
 *         3 NativeCalls.fails
 *           3 NativeCalls.throwing
 *         3 NativeCalls.leaf
 *       1 NativeCalls.<init>
 *       1 NativeCalls.down
 *         1 NativeCalls.turn
 *           1 NativeCalls.down
 *             1 NativeCalls.turn
 *               1 NativeCalls.down
 *                 1 NativeCalls.turn
 *                   1 NativeCalls.down
 *       1 NativeCalls.leaf
 */
public class NativeCalls {
    static {
        System.loadLibrary("native_calls");
    }

    /** a + b. */
    static native int add(int a, int b);

    /** Calls called(0..n-1) and returns the sum. */
    static native int callBack(int n);

    /** Throws IllegalStateException("native"). */
    static native void throwing();

    /** Calls fails() and returns with its exception pending. */
    static native void passing();

    /** Calls fails() n times, clears each exception, and calls leaf() after it. */
    static native int clearing(int n);

    /** Calls down(n - 1). */
    native int turn(int n);

    static int called(int n) {
        return leaf(n);
    }

    static int leaf(int n) {
        return 2 * n;
    }

    static void fails() {
        throwing();
    }

    int down(int n) {
        return n == 0 ? 0 : 1 + turn(n);
    }

    static String caught() {
        try {
            throwing();
            return "nothing";
        } catch (IllegalStateException e) {
            leaf(0);
            return e.getMessage();
        }
    }

    static String caughtThrough() {
        try {
            passing();
            return "nothing";
        } catch (IllegalStateException e) {
            leaf(0);
            return e.getMessage();
        }
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int i = 0; i < 5; i++) {
            sum = add(sum, i);
        }
        System.out.println(sum + " " + callBack(7));
        System.out.println(caught() + " " + caught() + " " + caughtThrough() + " " + clearing(3));
        System.out.println(new NativeCalls().down(3) + " " + leaf(21));
    }
}
