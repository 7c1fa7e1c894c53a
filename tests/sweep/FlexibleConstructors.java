/**
 * Constructors that do things before super() (Java 22 and later): checks, loops, handlers, fields,
 * objects of their own class. Prints what it computed; ends with status 0 if that is right.
 */
public class FlexibleConstructors {
    static class Base {
        final String seen;

        Base(Object argument) {
            seen = argument + ":" + early();
        }

        int early() {
            return 0;
        }
    }

    static class Derived extends Base {
        private final int field;

        Derived(int value, Derived other) {
            if (value < 0)
                throw new IllegalArgumentException("negative");
            int sum = 0;
            for (int i = 0; i < value; i++) {
                if (i == 7)
                    continue;
                sum += i;
            }
            field = sum;
            Derived made = value > 2 ? new Derived(value - 1, other) : other;
            String text;
            try {
                text = Integer.toString(Integer.parseInt("x" + value));
            } catch (NumberFormatException e) {
                text = value % 2 == 0 ? "even" : "odd";
            } finally {
                sum++;
            }
            switch (text) {
            case "even" -> sum *= 2;
            case "odd" -> sum *= 3;
            default -> throw new AssertionError(text);
            }
            super(made == null ? text + sum : text + made.field);
            if (value == 9)
                throw new IllegalStateException(seen);
        }

        Derived(String text) {
            int value = text.length();
            Runnable check = () -> {
                if (text.isEmpty())
                    throw new IllegalArgumentException("empty");
            };
            check.run();
            this(value, null);
        }

        @Override
        int early() {
            return field;
        }
    }

    static String made(int value) {
        try {
            return new Derived(value, null).seen;
        } catch (RuntimeException e) {
            return e.getMessage();
        }
    }

    public static void main(String[] args) {
        StringBuilder found = new StringBuilder();
        for (int value : new int[] {-1, 0, 1, 2, 3, 8, 9})
            found.append(made(value)).append(' ');
        found.append(new Derived("four").seen).append(' ');
        try {
            new Derived("");
        } catch (IllegalArgumentException e) {
            found.append(e.getMessage());
        }
        System.out.println(found);
        if (!found.toString().equals("negative even2:0 odd3:0 even4:1 odd1:3 even21:21 odd21:29 "
                                     + "even3:6 empty"))
            System.exit(1);
    }
}
