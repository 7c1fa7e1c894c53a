import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntUnaryOperator;

/** Classes of every origin, one command each; all that it prints is the same with and without the agent. */
public class Classes {
    static CountDownLatch standing = new CountDownLatch(1);
    static CountDownLatch released = new CountDownLatch(1);
    static Thread slow;
    static Object result;

    static int called(int n) {
        return n + 1;
    }

    /** Reads classes from a folder; one that waits says so before it defines them. */
    static class Loader extends ClassLoader {
        final Path folder;
        final boolean waits;

        Loader(String folder, boolean waits) {
            super(null);
            this.folder = Path.of(folder);
            this.waits = waits;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.equals("Classes")) {
                return Classes.class;
            }
            byte[] bytes;
            try {
                bytes = Files.readAllBytes(folder.resolve(name + ".class"));
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
            if (waits) {
                standstill();
            }
            return defineClass(name.substring(name.lastIndexOf('/') + 1), bytes, 0, bytes.length);
        }
    }

    static void standstill() {
        standing.countDown();
        try {
            released.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static String hidden() throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of("classes/Hidden.class"));
        int sum = 0;
        for (int i = 0; i < 10; i++) {
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
            Object made = hidden.getDeclaredConstructor().newInstance();
            sum += ((IntUnaryOperator) made).applyAsInt(i);
        }
        return "hidden " + sum;
    }

    /** So many loaders, each with its own class of that name, and arrays of it. */
    static String many(int count) throws Exception {
        List<Object> kept = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < count; i++) {
            Class<?> many = new Loader("classes", false).loadClass("Many");
            Object made = many.getDeclaredConstructor().newInstance();
            sum += ((IntUnaryOperator) made).applyAsInt(i);
            Object array = Array.newInstance(many, 2, 3);
            Array.set(Array.get(array, 1), 2, made);
            kept.add(array);
        }
        return "many " + sum + " " + kept.size();
    }

    /** Drops their loaders until the JVM has unloaded one: it must be able to. */
    static String unloaded(int count) throws Exception {
        WeakReference<Class<?>> first = null;
        for (int i = 0; i < count; i++) {
            Class<?> many = new Loader("classes", false).loadClass("Many");
            many.getDeclaredConstructor().newInstance();
            if (first == null) {
                first = new WeakReference<>(many);
            }
        }
        int collections = 0;
        while (first.get() != null && collections < 100) {
            System.gc();
            collections++;
        }
        return "unloaded " + (first.get() == null);
    }

    static String redefined(String folder) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(folder, "Changing.class"));
        Redefiner.redefine(Changing.class, bytes);
        return "redefined";
    }

    static String changing() {
        StringBuilder text = new StringBuilder("changing");
        for (int i = 0; i < 5; i++) {
            text.append(" [").append(Changing.call(i)).append("]");
        }
        return text.toString();
    }

    static String lambdas() {
        int base = called(1);
        IntUnaryOperator twice = n -> called(n) * base;
        IntUnaryOperator reference = Classes::called;
        return "lambdas " + twice.andThen(reference).applyAsInt(5);
    }

    interface Shape {
        int area(int n);

        default int more(int n) {
            return area(n) + 1;
        }
    }

    static String proxies() {
        Shape shape = (Shape) Proxy.newProxyInstance(Classes.class.getClassLoader(),
                new Class<?>[] {Shape.class}, (proxy, method, arguments) -> {
                    int n = called((Integer) arguments[0]);
                    if (n > 5) {
                        throw new IllegalStateException("too large");
                    }
                    return n;
                });
        int sum = 0;
        for (int i = 0; i < 10; i++) {
            try {
                sum += shape.area(i) + shape.more(i);
            } catch (IllegalStateException e) {
                sum += 1000;
            }
        }
        return "proxies " + sum;
    }

    static String large() {
        return "large " + Large.large(3) + " " + Large.small(3);
    }

    /** In a thread that stands still while its class is defined, or initialised. */
    static String slowly(String how) throws Exception {
        standing = new CountDownLatch(1);
        released = new CountDownLatch(1);
        slow = new Thread(() -> {
            try {
                if (how.equals("define")) {
                    Class<?> many = new Loader("classes", true).loadClass("Many");
                    Object made = many.getDeclaredConstructor().newInstance();
                    result = ((IntUnaryOperator) made).applyAsInt(7);
                } else {
                    result = Slow.after(1);
                }
            } catch (Throwable e) {
                result = e;
            }
        });
        slow.start();
        standing.await();
        return "slowly";
    }

    static String released() throws Exception {
        released.countDown();
        slow.join();
        return "released " + result;
    }

    static String broken(String folder) {
        try {
            return "works " + new Loader(folder, false).loadClass("Bad").getMethod("call").invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            return "broken " + e.getCause();
        } catch (Throwable e) {
            return "broken " + e;
        }
    }

    static String run(Scanner in) throws Exception {
        switch (in.next()) {
            case "hidden": return hidden();
            case "many": return many(in.nextInt());
            case "unloaded": return unloaded(in.nextInt());
            case "redefined": return redefined(in.next());
            case "changing": return changing();
            case "lambdas": return lambdas();
            case "proxies": return proxies();
            case "large": return large();
            case "slowly": return slowly(in.next());
            case "released": return released();
            case "broken": return broken(in.next());
            default: return "?";
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            System.out.println(run(in).replace('\n', '|'));
        }
    }
}
