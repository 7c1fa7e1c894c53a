/*
 * Exceptions that leave several frames at once, with finally, rethrown, swallowed, replaced, and out
 * of try-with-resources. after() is called where the call tree must have come back to.
 *
 * Expected:
 *   thread main
 *     1 Exceptions.main
 *       3 Exceptions.caught
 *         3 Exceptions.passes
 *           3 Exceptions.cleansUp
 *             3 Exceptions.throwing
 *             3 Exceptions.cleanup
 *         3 Exceptions.after
 *       2 Exceptions.caughtTwice
 *         2 Exceptions.rethrows
 *           2 Exceptions.passes
 *             2 Exceptions.cleansUp
 *               2 Exceptions.throwing
 *               2 Exceptions.cleanup
 *           2 Exceptions.noted
 *         2 Exceptions.after
 *       1 Exceptions.replaced
 *         1 Exceptions.throwsInFinally
 *           1 Exceptions.throwing
 *           1 Exceptions.throwingToo
 *         1 Exceptions.after
 *       1 Exceptions.returnsInFinally
 *         1 Exceptions.throwing
 *         1 Exceptions.after
 *       1 Exceptions.resources
 *         2 Exceptions$Resource.<init>
 *         1 Exceptions.throwing
 *         2 Exceptions$Resource.close
 *           1 Exceptions.throwingToo
 *         1 Exceptions.after
 *       1 Exceptions.implicit
 *         1 Exceptions.divides
 *         1 Exceptions.dereferences
 *         1 Exceptions.overruns
 *         1 Exceptions.casts
 *         4 Exceptions.after
 *       6 Exceptions.after
 */
public class Exceptions {
    static int cleanups;

    static class Resource implements AutoCloseable {
        private final boolean fails;

        Resource(boolean fails) {
            this.fails = fails;
        }

        @Override
        public void close() {
            if (fails) {
                throwingToo();
            }
        }
    }

    static void throwing() {
        throw new IllegalStateException("thrown");
    }

    static void throwingToo() {
        throw new UnsupportedOperationException("thrown too");
    }

    static void cleanup() {
        cleanups++;
    }

    static void cleansUp() {
        try {
            throwing();
        } finally {
            cleanup();
        }
    }

    static void passes() {
        cleansUp();
        after(); // never
    }

    static void after() {
    }

    static void noted() {
    }

    static String caught() {
        try {
            passes();
            return "nothing";
        } catch (IllegalStateException e) {
            after();
            return e.getMessage();
        }
    }

    static void rethrows() {
        try {
            passes();
        } catch (IllegalStateException e) {
            noted();
            throw new RuntimeException(e);
        }
    }

    static String caughtTwice() {
        try {
            rethrows();
            return "nothing";
        } catch (RuntimeException e) {
            after();
            return e.getCause().getMessage();
        }
    }

    static void throwsInFinally() {
        try {
            throwing();
        } finally {
            throwingToo();
        }
    }

    static String replaced() {
        try {
            throwsInFinally();
            return "nothing";
        } catch (UnsupportedOperationException e) {
            after();
            return e.getMessage();
        }
    }

    @SuppressWarnings("finally")
    static String returnsInFinally() {
        try {
            throwing();
            return "nothing";
        } finally {
            after();
            return "from finally";
        }
    }

    static String resources() {
        try (Resource good = new Resource(false); Resource bad = new Resource(true)) {
            throwing();
            return "nothing of " + good + bad;
        } catch (IllegalStateException e) {
            after();
            return e.getMessage() + ", suppressed " + e.getSuppressed()[0].getMessage();
        }
    }

    static int divides(int zero) {
        return 1 / zero;
    }

    static int dereferences(int[] nothing) {
        return nothing.length;
    }

    static int overruns(int[] empty) {
        return empty[0];
    }

    static String casts(Object number) {
        return (String) number;
    }

    static int implicit() {
        int seen = 0;
        try {
            divides(0);
        } catch (ArithmeticException e) {
            seen++;
            after();
        }
        try {
            dereferences(null);
        } catch (NullPointerException e) {
            seen++;
            after();
        }
        try {
            overruns(new int[0]);
        } catch (ArrayIndexOutOfBoundsException e) {
            seen++;
            after();
        }
        try {
            casts(1);
        } catch (ClassCastException e) {
            seen++;
            after();
        }
        return seen;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) {
            System.out.println(caught());
        }
        after();
        for (int i = 0; i < 2; i++) {
            System.out.println(caughtTwice());
        }
        after();
        System.out.println(replaced());
        after();
        System.out.println(returnsInFinally());
        after();
        System.out.println(resources());
        after();
        System.out.println(implicit());
        after();
        System.out.println(cleanups);
    }
}
