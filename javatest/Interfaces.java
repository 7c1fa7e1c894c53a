/*
 * Methods that stand in interfaces: default, static, private; overridden, and called through super.
 *
 * Expected:
 *   thread main
 *     1 Interfaces.main
 *       1 Interfaces$Shape.unit
 *         1 Interfaces$Square.<init>
 *       1 Interfaces$Square.<init>
 *       1 Interfaces$Circle.<init>
 *       3 Interfaces$Shape.describe
 *         3 Interfaces$Shape.prefix
 *         2 Interfaces$Square.name
 *         1 Interfaces$Circle.name
 *           1 Interfaces$Shape.name
 *           1 Interfaces$Round.name
 */
public class Interfaces {
    interface Shape {
        static Shape unit() {
            return new Square();
        }

        default String name() {
            return "shape";
        }

        default String describe() {
            return prefix() + name();
        }

        private String prefix() {
            return "a ";
        }
    }

    interface Round {
        default String name() {
            return "round";
        }
    }

    static class Square implements Shape {
        @Override
        public String name() {
            return "square";
        }
    }

    static class Circle implements Shape, Round {
        @Override
        public String name() {
            return Round.super.name() + " " + Shape.super.name();
        }
    }

    public static void main(String[] args) {
        for (Shape shape : new Shape[] {Shape.unit(), new Square(), new Circle()}) {
            System.out.println(shape.describe());
        }
    }
}
