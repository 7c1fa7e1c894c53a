package lib;

/** What the module shows. */
public interface Shape {
    int area(int size);

    default int twice(int size) {
        return 2 * area(size);
    }
}
