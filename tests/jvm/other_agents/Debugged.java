/*
 * For a debugger to stop in: at the line marked `stop here`, with these local variables, and in partly().
 *
 * Expected:
 *   thread main
 *     1 Debugged.main
 *       3 Debugged.sum
 *         9 Debugged.square
 *       1 Debugged.partly
 *         1 Debugged.square
 */
public class Debugged {
    static int square(int n) {
        return n * n;
    }

    static int sum(int[] values, long start) {
        long total = start;
        for (int value : values) {
            int squared = square(value);
            total += squared;
        }
        String text = "total " + total;
        System.out.println(text); // stop here
        return (int) total;
    }

    static int partly(int n) {
        try {
            return square(n) / (n - 3);
        } catch (ArithmeticException e) {
            return -1;
        }
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) {
            sum(new int[] {i, i + 1, i + 2}, 100L * i);
        }
        System.out.println(partly(3));
    }
}
