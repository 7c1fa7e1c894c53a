import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** Classes with every table and shape of code that the rewriter's tests should damage. */
class RewriterSamples<T extends Comparable<T>> {
    @Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER})
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Kind {
        String[] value() default {};
        int level() default 0;
    }

    static class Base {
        final Object first;

        Base(Object first, long second) {
            this.first = first;
        }
    }

    static class Derived extends Base {
        final int count;

        Derived(int count, Derived other) {
            super(count > 3 ? new Derived(count - 1, null) : other == null ? "none" : other.first, count);
            this.count = count;
        }

        Derived(int count) {
            this(count, count > 1 ? new Derived(count - 1) : null);
        }
    }

    enum Colour { RED, GREEN, BLUE }

    record Pair<A, B>(A left, B right) {
        Pair {
            if (left == null)
                throw new IllegalArgumentException("left");
        }
    }

    static int tables(int value) {
        switch (value) {
        case 1: return 10;
        case 2: return 20;
        case 3: value += 5;
        case 4: return value;
        default: break;
        }
        switch (value) {
        case -1000: return 1;
        case 1000000: return 2;
        default: return 3;
        }
    }

    static String texts(String text, Colour colour) {
        switch (text) {
        case "one": return "1" + colour;
        case "two": return "2" + text.length();
        default: return switch (colour) { case RED -> "r"; case GREEN -> "g"; case BLUE -> "b"; };
        }
    }

    static synchronized long loops(long[] numbers, double scale) {
        long sum = 0;
        outer:
        for (long number : numbers) {
            for (int i = 0; i < 10; i++) {
                if (number == i)
                    continue outer;
                sum += number * i;
                if (sum > 1e9 * scale)
                    break outer;
            }
        }
        return sum;
    }

    int handlers(Object lock, List<? extends T> list) throws IOException {
        int tried = 0;
        try {
            synchronized (lock) {
                tried++;
                if (list.isEmpty())
                    throw new IOException("empty");
            }
            return tried;
        } catch (@Kind("caught") RuntimeException e) {
            tried = -1;
        } finally {
            tried *= 2;
        }
        return tried;
    }

    @SuppressWarnings("unchecked")
    static <U> U annotated(Object given) {
        @Kind({"a", "b"}) List<@Kind(level = 3) String> local = new @Kind ArrayList<@Kind String>();
        if (given instanceof @Kind("c") String text)
            local.add(text);
        Supplier<String> made = local::toString;
        IntSupplier sized = () -> local.size() + given.hashCode();
        return (@Kind U) (Object) (made.get() + sized.getAsInt());
    }

    static {
        if (tables(1) != 10)
            throw new AssertionError();
    }
}
