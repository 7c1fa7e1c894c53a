/**
 * Recursion of two methods that ends in an exception: dive(0) throws it, dive(1) lets it go on, and dive(2) catches
 * it. What returns in the ordinary way calls after, which shows where a frame went back to.
 */
public class Diving {
    static int dive(int n) {
        if (n == 0) {
            throw new IllegalStateException("at the bottom");
        }
        try {
            return climb(n - 1) + after(n);
        } catch (IllegalStateException e) {
            if (n % 2 == 0) {
                return after(n);
            }
            throw e;
        }
    }

    static int climb(int n) {
        return dive(n);
    }

    static int after(int n) {
        return n;
    }

    public static void main(String[] args) {
        System.out.println(dive(5));
    }
}
