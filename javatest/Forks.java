/*
 * Native code that forks: the child's one thread goes on into hooked Java methods and ends. It is another
 * process: nothing that it does is in its parent's ledger, which stays the parent's.
 *
 * Expected:
 *   thread main
 *     1 Forks.<clinit>
 *     1 Forks.main
 *       2 Forks.parent
 *         12 Forks.leaf
 *       3 Forks.inAChild
 */
public class Forks {
    static {
        System.loadLibrary("forks");
    }

    /** Forks; the child calls child(10) and ends with its result; here that is what comes back. */
    static native int inAChild();

    static int child(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += leaf(i);
        }
        return sum;
    }

    static int leaf(int n) {
        return n + 1;
    }

    static int parent() {
        int sum = 0;
        for (int i = 0; i < 6; i++) {
            sum = leaf(sum);
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println(parent());
        for (int i = 0; i < 3; i++) {
            System.out.println(inAChild());
        }
        System.out.println(parent());
    }
}
