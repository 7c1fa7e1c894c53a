/*
 * Lambdas and method references, called by the JDK's own code. javac makes lambda$METHOD$NUMBER of a
 * lambda's body; a method reference calls its method with nothing between.
 *
 * Of 0..9 doubled, 0, 6, 12 and 18 are multiples of 3.
 *
 * Expected:
 *   thread main
 *     1 Lambdas.main
 *       1 Lambdas.streams
 *         10 Lambdas.twice
 *         10 Lambdas.lambda$streams$0
 *         4 Lambdas.lambda$streams$1
 *           4 Lambdas$Box.<init>
 *         4 Lambdas$Box.get
 *       1 Lambdas.references
 *         3 Lambdas.apply
 *           1 Lambdas$Box.<init>
 *           1 Lambdas$Box.get
 *           1 Lambdas$Box.plus
 *         1 Lambdas$Box.<init>
 *       1 Lambdas.throwing
 *         1 Lambdas.lambda$throwing$2
 *           1 Lambdas.fail
 *       1 Lambdas.twice
 */
import java.util.function.Function;
import java.util.stream.IntStream;

public class Lambdas {
    static class Box {
        final int value;

        Box(int value) {
            this.value = value;
        }

        int get() {
            return value;
        }

        Integer plus(Object n) {
            return value + (Integer) n;
        }
    }

    static int twice(int n) {
        return 2 * n;
    }

    static <A, B> B apply(Function<A, B> function, A argument) {
        return function.apply(argument);
    }

    static int streams() {
        int divisor = Integer.parseInt("3");
        return IntStream.range(0, 10)
                .map(Lambdas::twice)
                .filter(n -> n % divisor == 0)
                .mapToObj(n -> new Box(n))
                .mapToInt(Box::get)
                .sum();
    }

    static int references() {
        Box made = apply(Box::new, 4);
        Function<Object, Integer> bound = new Box(6)::plus;
        return apply(Box::get, made) + apply(bound, 5);
    }

    static void fail(Object n) {
        throw new IllegalStateException(n.toString());
    }

    static String throwing() {
        Runnable runnable = () -> fail(1);
        try {
            runnable.run();
            return "nothing";
        } catch (IllegalStateException e) {
            return e.getMessage();
        }
    }

    public static void main(String[] args) {
        System.out.println(streams() + " " + references() + " " + throwing() + " " + twice(3));
    }
}
