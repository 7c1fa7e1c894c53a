/*
 * Constructors that throw: in this() and super() chains, in instance initialisers, half way through.
 *
 * Derived() runs Derived(int), which runs Base(int) and then the initialisers of Derived.
 *
 * Expected:
 *   thread main
 *     1 Constructors.main
 *       6 Constructors.make
 *         2 Constructors$Derived.<init>()V
 *           2 Constructors$Derived.<init>(I)V
 *             2 Constructors$Base.<init>
 *               2 Constructors$Base.check
 *             2 Constructors$Derived.field
 *             2 Constructors$Derived.initialiser
 *             2 Constructors$Derived.finished
 *         4 Constructors$Derived.<init>(I)V
 *           4 Constructors$Base.<init>
 *             4 Constructors$Base.check
 *           3 Constructors$Derived.field
 *           2 Constructors$Derived.initialiser
 *           1 Constructors$Derived.finished
 *         3 Constructors.failed
 *       1 Constructors.failed
 */
public class Constructors {
    static class Base {
        final int n;

        Base(int n) {
            check(n);
            this.n = n;
        }

        static void check(int n) {
            if (n == -1) {
                throw new IllegalArgumentException("super");
            }
        }
    }

    static class Derived extends Base {
        int value = field();

        {
            initialiser();
        }

        Derived() {
            this(1);
        }

        Derived(int n) {
            super(n);
            finished();
        }

        int field() {
            if (n == -2) {
                throw new IllegalArgumentException("field");
            }
            return n;
        }

        void initialiser() {
            if (n == -3) {
                throw new IllegalArgumentException("initialiser");
            }
        }

        void finished() {
        }
    }

    static String failed(Exception e) {
        return e.getMessage();
    }

    static String make(int n) {
        try {
            Derived made = n == 0 ? new Derived() : new Derived(n);
            return "made " + made.value;
        } catch (IllegalArgumentException e) {
            return failed(e);
        }
    }

    public static void main(String[] args) {
        for (int n : new int[] {0, -1, 0, -2, -3, 7}) {
            System.out.println(make(n));
        }
        System.out.println(failed(new Exception("end")));
    }
}
