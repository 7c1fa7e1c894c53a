/*
 * What javac makes of varargs, overloads, generic overrides (bridge methods), covariant returns, inner,
 * local and anonymous classes, enums with bodies and records. In a package, which the names show.
 *
 * Expected:
 *   include treadle.test.*
 *   thread main
 *     1 treadle.test.Dispatch.main
 *       1 treadle.test.Dispatch.<init>
 *       1 treadle.test.Dispatch.sum([I)I
 *       2 treadle.test.Dispatch.sum(I)I
 *         2 treadle.test.Dispatch.sum([I)I
 *       1 treadle.test.Dispatch$Text.<init>
 *       3 treadle.test.Dispatch$Text.length(Ljava/lang/Object;)I
 *         3 treadle.test.Dispatch$Text.length(Ljava/lang/String;)I
 *       1 treadle.test.Dispatch$Text.length(Ljava/lang/String;)I
 *       1 treadle.test.Dispatch$Text.self()Ltreadle/test/Dispatch$Measure;
 *         1 treadle.test.Dispatch$Text.self()Ltreadle/test/Dispatch$Text;
 *       1 treadle.test.Dispatch$Inner.<init>
 *       4 treadle.test.Dispatch$Inner.next
 *         4 treadle.test.Dispatch.bump
 *       1 treadle.test.Dispatch$1Local.<init>
 *       1 treadle.test.Dispatch$1Local.get
 *       1 treadle.test.Dispatch$1.<init>
 *       2 treadle.test.Dispatch$1.run
 *         2 treadle.test.Dispatch.bump
 *       1 treadle.test.Dispatch$Operation.<clinit>
 *         1 treadle.test.Dispatch$Operation$1.<init>
 *           1 treadle.test.Dispatch$Operation.<init>
 *         1 treadle.test.Dispatch$Operation$2.<init>
 *           1 treadle.test.Dispatch$Operation.<init>
 *         1 treadle.test.Dispatch$Operation.$values
 *       1 treadle.test.Dispatch$Operation.values
 *       1 treadle.test.Dispatch$Operation$1.apply
 *       1 treadle.test.Dispatch$Operation$2.apply
 *       1 treadle.test.Dispatch$Point.<init>
 *       1 treadle.test.Dispatch$Point.x
 *       1 treadle.test.Dispatch$Point.equals
 */
package treadle.test;

public class Dispatch {
    private int count;

    interface Measure<T> {
        int length(T of);

        Measure<T> self();
    }

    static class Text implements Measure<String> {
        @Override
        public int length(String of) {
            return of.length();
        }

        @Override
        public Text self() {
            return this;
        }
    }

    class Inner {
        int next() {
            return bump();
        }
    }

    enum Operation {
        ADD {
            @Override
            int apply(int a, int b) {
                return a + b;
            }
        },
        TIMES {
            @Override
            int apply(int a, int b) {
                return a * b;
            }
        };

        abstract int apply(int a, int b);
    }

    record Point(int x, int y) {
    }

    private int bump() {
        return ++count;
    }

    static int sum(int... numbers) {
        int sum = 0;
        for (int n : numbers) {
            sum += n;
        }
        return sum;
    }

    static int sum(int n) {
        return sum(n, n);
    }

    public static void main(String[] args) {
        Dispatch outer = new Dispatch();
        System.out.println(sum() + sum(3) + sum(4));

        Text text = new Text();
        Measure<String> measure = text;
        int lengths = text.length("a");
        for (String s : new String[] {"bb", "ccc", "dddd"}) {
            lengths += measure.length(s);
        }
        System.out.println(lengths + " " + (measure.self() == text));

        Inner inner = outer.new Inner();
        for (int i = 0; i < 4; i++) {
            inner.next();
        }

        class Local {
            int get() {
                return outer.count;
            }
        }
        System.out.println(new Local().get());

        Runnable anonymous = new Runnable() {
            @Override
            public void run() {
                outer.bump();
            }
        };
        anonymous.run();
        anonymous.run();
        System.out.println(outer.count);

        for (Operation operation : Operation.values()) {
            System.out.println(operation.apply(6, 7));
        }
        Point point = new Point(1, 2);
        System.out.println(point.x() + " " + point.equals(null));
    }
}
