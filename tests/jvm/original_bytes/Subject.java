import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/** Classes with something of everything that a class file can have. */
public class Subject {
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        String value() default "";
    }

    interface Shape<T extends Number> {
        T area();

        default String text() {
            return "area " + area();
        }
    }

    enum Kind { SMALL, LARGE { @Override int size() { return 100; } };
        int size() {
            return 1;
        }
    }

    record Square(int side) implements Shape<Integer> {
        @Override
        public Integer area() {
            return side * side;
        }
    }

    @Mark("synchronized, with handlers")
    static synchronized int guarded(@Mark("n") int n) {
        try {
            return 100 / n;
        } catch (ArithmeticException e) {
            return -1;
        } finally {
            calls++;
        }
    }

    static long calls;

    static String chosen(String key) {
        switch (key) {
            case "one": return "1";
            case "two": return "2";
            default: return "?";
        }
    }

    static int chosen(Kind kind) {
        switch (kind) {
            case SMALL: return 10 + kind.size();
            default: return 20 + kind.size();
        }
    }

    static String work() {
        Map<String, List<Integer>> found = new HashMap<>();
        IntUnaryOperator twice = n -> 2 * n;
        for (int i = 0; i < 100; i++) {
            found.computeIfAbsent(chosen(i % 3 == 0 ? "one" : "two"), k -> new ArrayList<>())
                    .add(twice.applyAsInt(guarded(i % 7)));
        }
        int sum = 0;
        for (List<Integer> list : found.values()) {
            for (int n : list) {
                sum += n;
            }
        }
        return sum + " " + new Square(3).text() + " " + chosen(Kind.SMALL) + " " + chosen(Kind.LARGE);
    }
}
