/*
 * Calls that no bytecode names: Method.invoke (40 times, so that the JDK changes its way of doing it),
 * Constructor.newInstance, a proxy's handler, method handles; also when the callee throws.
 *
 * Expected:
 *   thread main
 *     1 Reflection.main
 *       1 Reflection.invoked
 *         40 Reflection.twice
 *         1 Reflection$Box.<init>
 *         1 Reflection$Box.get
 *         1 Reflection.fails
 *         1 Reflection.caught
 *       1 Reflection.proxied
 *         1 Reflection$Handler.<init>
 *         3 Reflection$Handler.invoke
 *           3 Reflection.twice
 *       1 Reflection.handles
 *         20 Reflection.twice
 *         1 Reflection$Box.<init>
 *         2 Reflection$Box.get
 *         1 Reflection.fails
 *         1 Reflection.caught
 *       1 Reflection.caught
 */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.IntUnaryOperator;

public class Reflection {
    static class Box {
        final int value;

        Box(int value) {
            this.value = value;
        }

        int get() {
            return value;
        }
    }

    static class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] args) {
            return twice((Integer) args[0]);
        }
    }

    static int twice(int n) {
        return 2 * n;
    }

    static void fails() {
        throw new IllegalStateException("failed");
    }

    static String caught(Throwable e) {
        return e.getMessage();
    }

    static String invoked() throws ReflectiveOperationException {
        Method twice = Reflection.class.getDeclaredMethod("twice", int.class);
        int sum = 0;
        for (int i = 0; i < 40; i++) {
            sum += (Integer) twice.invoke(null, i);
        }
        Constructor<Box> constructor = Box.class.getDeclaredConstructor(int.class);
        sum += (Integer) Box.class.getDeclaredMethod("get").invoke(constructor.newInstance(5));
        try {
            Reflection.class.getDeclaredMethod("fails").invoke(null);
            return "nothing";
        } catch (InvocationTargetException e) {
            return sum + " " + caught(e.getCause());
        }
    }

    static int proxied() {
        IntUnaryOperator twice = (IntUnaryOperator) Proxy.newProxyInstance(
                Reflection.class.getClassLoader(), new Class<?>[] {IntUnaryOperator.class},
                new Handler());
        return twice.applyAsInt(1) + twice.applyAsInt(2) + twice.applyAsInt(3);
    }

    static String handles() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle twice = lookup.findStatic(
                Reflection.class, "twice", MethodType.methodType(int.class, int.class));
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += (int) twice.invokeExact(i);
        }
        MethodHandle make = lookup.findConstructor(
                Box.class, MethodType.methodType(void.class, int.class));
        MethodHandle get = lookup.findVirtual(Box.class, "get", MethodType.methodType(int.class));
        Box box = (Box) make.invoke(7);
        sum += (int) get.invoke(box) + (int) get.bindTo(box).invoke();
        try {
            lookup.findStatic(Reflection.class, "fails", MethodType.methodType(void.class)).invoke();
            return "nothing";
        } catch (IllegalStateException e) {
            return sum + " " + caught(e);
        }
    }

    public static void main(String[] args) throws Throwable {
        System.out.println(invoked());
        System.out.println(proxied());
        System.out.println(handles());
        System.out.println(caught(new Exception("end")));
    }
}
