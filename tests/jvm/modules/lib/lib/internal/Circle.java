package lib.internal;

/** As Square; it refuses some sizes. */
public class Circle implements lib.Shape {
    @Override
    public int area(int size) {
        if (size > 2) {
            throw new IllegalArgumentException("too large: " + size);
        }
        return 3 * size * size;
    }
}
