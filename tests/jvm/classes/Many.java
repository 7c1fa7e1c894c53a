/** Defined by many loaders. */
public class Many implements java.util.function.IntUnaryOperator {
    static int made;

    final int[] kept = {made++};

    @Override
    public int applyAsInt(int n) {
        return twice(n) + kept[0];
    }

    static int twice(int n) {
        return 2 * n;
    }
}
