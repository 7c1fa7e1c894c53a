package lib.internal;

/** What the module hides, but for the service loader. */
public class Square implements lib.Shape {
    @Override
    public int area(int size) {
        return size * size;
    }
}
