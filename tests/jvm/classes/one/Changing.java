/** Before its redefinition. */
public class Changing {
    static String body(int n) {
        return "one " + n;
    }

    static String call(int n) {
        return body(n) + only(n);
    }

    static int only(int n) {
        return n;
    }
}
