/** Its redefinition: other code, a handler more. */
public class Changing {
    static String body(int n) {
        try {
            return "two " + 100 / n;
        } catch (ArithmeticException e) {
            return "none";
        }
    }

    static String call(int n) {
        return body(n) + "; " + body(n - 1);
    }

    static int only(int n) {
        return n;
    }
}
