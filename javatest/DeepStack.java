/*
 * A stack 3,000 calls deep, three times; the last time an exception leaves all of it at once.
 *
 * Expected:
 *   thread main
 *     1 DeepStack.main
 *       3 DeepStack.down * 3000
 *         3 DeepStack.bottom
 *       3 DeepStack.after
 *   total DeepStack.down 9000
 */
public class DeepStack {
    static int down(int n, boolean fails) {
        return n == 1 ? bottom(fails) : 1 + down(n - 1, fails);
    }

    static int bottom(boolean fails) {
        if (fails) {
            throw new IllegalStateException();
        }
        return 1;
    }

    static void after() {
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) {
            try {
                System.out.println(down(3000, i == 2));
            } catch (IllegalStateException e) {
                System.out.println("thrown");
            }
            after();
        }
    }
}
