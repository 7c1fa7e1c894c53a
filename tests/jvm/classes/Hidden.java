/** Defined as a hidden class: it calls what has hooks and has none itself. */
public class Hidden implements java.util.function.IntUnaryOperator {
    @Override
    public int applyAsInt(int n) {
        return Classes.called(n) + own(n);
    }

    static int own(int n) {
        return 1000 * n;
    }
}
