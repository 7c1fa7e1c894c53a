/**
 * Written in the Java of 1996, for a compiler that still makes subroutines (jsr) of finally. Prints
 * what it computed and ends with status 0 if that is right.
 */
public class OldCode {
    private final Object kept;
    private int calls;

    static class Inner extends OldCode {
        Inner(int depth) {
            super(depth > 0 ? new Inner(depth - 1) : (Object) "bottom");
        }
    }

    OldCode(Object kept) {
        this.kept = kept;
        try {
            calls++;
        } finally {
            calls += 10;
        }
    }

    int nested(int value) throws Exception {
        try {
            try {
                if (value == 1)
                    return 100;
                if (value == 2)
                    throw new Exception("two");
                if (value == 3)
                    throw new IllegalStateException("three");
            } finally {
                calls++;
                try {
                    if (value == 4)
                        return 400;
                } finally {
                    calls += 2;
                }
            }
        } catch (IllegalStateException e) {
            return 300;
        } finally {
            calls += 4;
        }
        return value;
    }

    static synchronized int locked(Object lock, int[] numbers) {
        int sum = 0;
        for (int i = 0; ; i++) {
            synchronized (lock) {
                try {
                    if (i == numbers.length)
                        break;
                    if (numbers[i] < 0)
                        continue;
                    sum += numbers[i];
                } finally {
                    sum++;
                }
            }
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        OldCode code = new Inner(3);
        StringBuffer found = new StringBuffer();
        for (int i = 0; i < 6; i++) {
            try {
                found.append(code.nested(i)).append(' ');
            } catch (Exception e) {
                found.append(e.getMessage()).append(' ');
            }
        }
        found.append(code.calls).append(' ');
        found.append(locked(code, new int[] {1, -2, 3})).append(' ');
        for (OldCode o = code; o != null; o = o.kept instanceof OldCode ? (OldCode) o.kept : null)
            found.append(o.kept instanceof String ? (String) o.kept : ".");
        System.out.println(found);
        if (!found.toString().equals("0 100 two 300 400 5 53 8 ...bottom"))
            System.exit(1);
    }
}
