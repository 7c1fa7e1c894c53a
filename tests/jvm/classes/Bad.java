/** The test damages its class file in several ways. */
public class Bad {
    static int add(int n) {
        return n + 1;
    }

    public static int call() {
        return add(1);
    }
}
