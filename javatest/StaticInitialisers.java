/*
 * Static initialisers: run once, where the class is first used; the superclass's before; one that
 * throws (ExceptionInInitializerError), after which the class is gone (NoClassDefFoundError).
 *
 * Expected:
 *   thread main
 *     1 StaticInitialisers.<clinit>
 *       1 StaticInitialisers.first
 *     1 StaticInitialisers.main
 *       1 StaticInitialisers.first
 *       2 StaticInitialisers.good
 *         1 StaticInitialisers$Super.<clinit>
 *           1 StaticInitialisers.first
 *         1 StaticInitialisers$Good.<clinit>
 *           1 StaticInitialisers$Good.compute
 *             1 StaticInitialisers$Nested.<clinit>
 *             1 StaticInitialisers$Nested.get
 *         2 StaticInitialisers$Good.get
 *       3 StaticInitialisers.bad
 *         1 StaticInitialisers$Bad.<clinit>
 *           1 StaticInitialisers$Bad.fail
 *         3 StaticInitialisers.failed
 */
public class StaticInitialisers {
    static int order;
    static final int FIRST = first();

    static int first() {
        return ++order;
    }

    static class Super {
        static final int BEFORE = first();
    }

    static class Good extends Super {
        static final int VALUE = compute();

        static int compute() {
            return Nested.get() + 1;
        }

        static int get() {
            return VALUE;
        }
    }

    static class Nested {
        static int value;

        static {
            value = 41;
        }

        static int get() {
            return value;
        }
    }

    static class Bad {
        static {
            fail();
        }

        static void fail() {
            throw new IllegalStateException("in <clinit>");
        }

        static void never() {
        }
    }

    static int good() {
        return Good.get();
    }

    static String failed(Error e) {
        return e.getClass().getName();
    }

    static String bad() {
        try {
            Bad.never();
            return "no error";
        } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
            return failed(e);
        }
    }

    public static void main(String[] args) {
        System.out.println(first() + " " + FIRST + " " + good() + " " + good() + " " + order);
        for (int i = 0; i < 3; i++) {
            System.out.println(bad());
        }
    }
}
