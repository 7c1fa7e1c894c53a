/** Two methods that call each other, 3,000 deep, and a third that works at the bottom. */
public final class Diver {
    private static final int DEPTH = 3000;
    private static final int ROUNDS = 200_000;

    private static long sum;

    private Diver() {
    }

    static int even(int depth) {
        if (depth > 0)
            return odd(depth - 1) + 1;
        work();
        return 0;
    }

    static int odd(int depth) {
        return even(depth - 1) + 1;
    }

    static void work() {
        for (int i = 0; i < ROUNDS; i++)
            sum += i ^ sum;
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        int depth = 0;

        while (System.nanoTime() < end)
            depth = even(DEPTH);
        System.out.println(depth);
    }
}
