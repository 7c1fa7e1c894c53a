/**
 * Overflows the stack some hundred times, in recursions with handlers, finally blocks and monitors,
 * and catches it at the top or on the way. {@link #compareDepths} is the first thing called in
 * handlers: whoever counts calls must know there how deep the stack is, whatever got lost on the way
 * up. What is printed does not tell how deep a recursion came.
 */
public class Overflows {
    private static final int ROUNDS = 20;
    private static final Object lock = new Object();
    private static long work;

    private static void plain(int depth) {
        plain(depth + 1);
        work++;
    }

    /** The handler covers the monitor's exit, and so itself. */
    private static void insideSynchronized(int depth) {
        synchronized (lock) {
            insideSynchronized(depth + 1);
            work++;
        }
    }

    private static synchronized void synchronizedMethod(int depth) {
        synchronizedMethod(depth + 1);
        work++;
    }

    private static void insideFinally(int depth) {
        try {
            insideFinally(depth + 1);
        } finally {
            work++;
        }
    }

    private static void callInFinally(int depth) {
        try {
            callInFinally(depth + 1);
        } finally {
            leaf();
        }
    }

    private static void leaf() {
        work++;
    }

    private static void caughtAndThrown(int depth) {
        try {
            caughtAndThrown(depth + 1);
        } catch (StackOverflowError e) {
            if (budget-- > 0)
                compareDepths();
            throw e;
        }
    }

    /** How often something is done on the way up: comparing takes its time. */
    private static int budget;

    private static void caughtAndTriedAgain(int depth) {
        try {
            caughtAndTriedAgain(depth + 1);
        } catch (StackOverflowError e) {
            if (budget-- > 0) {
                compareDepths();
                caughtAndTriedAgain(depth + 1);
            }
            throw e;
        }
    }

    private static void retried(int depth) {
        for (int i = 0; i < 2; i++) {
            try {
                retried(depth + 1);
                return;
            } catch (StackOverflowError e) {
                if (i == 1 || budget-- <= 0)
                    throw e;
                compareDepths();
            }
        }
    }

    private static void mixed(int depth) throws Exception {
        synchronized (lock) {
            try {
                if (depth % 3 == 0)
                    Overflows.class.getDeclaredMethod("mixed", int.class).invoke(null, depth + 1);
                else
                    mixed(depth + 1);
            } catch (IllegalStateException e) {
                work--;
            } finally {
                work++;
            }
        }
    }

    private static final class Chain {
        final Chain next;
        int length;

        Chain(int depth) {
            this(new Chain(depth + 1), depth);
        }

        Chain(Chain next, int depth) {
            this.next = next;
            length = depth;
        }
    }

    private static class Base {
        Base(int depth) {
            new Derived(depth + 1);
        }
    }

    private static final class Derived extends Base {
        final int own;

        Derived(int depth) {
            super(depth);
            own = depth;
        }
    }

    private static void compareDepths() {
        work++;
    }

    private static void recurse(String how) throws Exception {
        switch (how) {
        case "plain" -> plain(0);
        case "synchronized block" -> insideSynchronized(0);
        case "synchronized method" -> synchronizedMethod(0);
        case "finally" -> insideFinally(0);
        case "call in finally" -> callInFinally(0);
        case "rethrown" -> caughtAndThrown(0);
        case "tried again" -> caughtAndTriedAgain(0);
        case "retried" -> retried(0);
        case "mixed" -> mixed(0);
        case "constructors" -> new Chain(0);
        case "super constructors" -> new Derived(0);
        default -> throw new AssertionError(how);
        }
    }

    /** What a constructor's call of another throws leaves it without a hook. */
    private static boolean constructorOverflows() {
        try {
            new Derived(0);
            return false;
        } catch (StackOverflowError e) {
            compareDepths();
            return true;
        }
    }

    private static boolean overflows(String how) {
        try {
            recurse(how);
            return false;
        } catch (StackOverflowError e) {
            compareDepths();
            return true;
        } catch (Exception e) {
            compareDepths();
            for (Throwable cause = e; cause != null; cause = cause.getCause())
                if (cause instanceof StackOverflowError)
                    return true;
            return false;
        }
    }

    private static void all() {
        for (String how : new String[] {"plain", "synchronized block", "synchronized method",
                 "finally", "call in finally", "rethrown", "tried again", "retried", "mixed",
                 "constructors", "super constructors"}) {
            int count = 0;
            for (int i = 0; i < ROUNDS; i++) {
                budget = 3;
                if (overflows(how))
                    count++;
            }
            System.out.println(how + " " + count);
        }
        System.out.println("one constructor " + constructorOverflows());
        System.out.println("lock is free " + !Thread.holdsLock(lock));
    }

    public static void main(String[] args) throws Exception {
        Thread small = new Thread(null, Overflows::all, "small stack", 256 << 10);
        small.start();
        small.join();
        all();
    }
}
