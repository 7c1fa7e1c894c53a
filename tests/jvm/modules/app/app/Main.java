/*
 * Two modules: classes of a package that is not exported, found by the service loader.
 *
 * Expected:
 *   include app.*;lib.*
 *   thread main
 *     1 app.Main.main
 *       1 lib.internal.Square.<init>
 *       1 lib.internal.Circle.<init>
 *       6 app.Main.area
 *         6 lib.Shape.twice
 *           3 lib.internal.Square.area
 *           3 lib.internal.Circle.area
 */
package app;

import java.util.ServiceLoader;
import lib.Shape;

public class Main {
    static int area(Shape shape, int size) {
        try {
            return shape.twice(size);
        } catch (IllegalArgumentException e) {
            return -1;
        }
    }

    public static void main(String[] args) {
        System.out.println(Main.class.getModule() + " " + Shape.class.getModule());
        for (Shape shape : ServiceLoader.load(Shape.class)) {
            for (int size = 1; size <= 3; size++) {
                System.out.println(shape.getClass() + " " + area(shape, size));
            }
        }
    }
}
