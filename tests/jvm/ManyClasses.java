import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

/**
 * The same class from 500 loaders, which are collected meanwhile; arrays of it; hidden classes of the same
 * bytes; a class that the verifier refuses. Prints what it counted.
 */
public class ManyClasses {
    static final int LOADERS = 500;
    static final int HIDDEN = 20;

    public static class Job implements Runnable {
        int done;

        @Override
        public void run() {
            for (int i = 0; i < 3; i++) {
                step();
            }
        }

        void step() {
            done += Integer.bitCount(done + 5);
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(String name, byte[] bytes) {
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] bytesOf(Class<?> type) throws Exception {
        try (InputStream in = type.getResourceAsStream("/" + type.getName() + ".class")) {
            return in.readAllBytes();
        }
    }

    static Class<?> load(byte[] bytes) {
        return new Loader().define(Job.class.getName(), bytes);
    }

    static void runOne(Class<?> type) throws Exception {
        ((Runnable) type.getDeclaredConstructor().newInstance()).run();
        Object[] many = (Object[]) Array.newInstance(type, 3);
        many[0] = type.getDeclaredConstructor().newInstance();
    }

    /** An areturn where an int is: the class loads, and does not verify. */
    static String refused(byte[] bytes) {
        byte[] broken = bytes.clone();
        for (int i = 0; i + 2 < broken.length; i++) {
            if (broken[i] == (byte) 0x2a && broken[i + 1] == (byte) 0xb4 && broken[i + 4] == (byte) 0x08) {
                broken[i] = 0x03; // iconst_0 where this was loaded, before the getfield
                break;
            }
        }
        try {
            runOne(load(broken));
            return "no error";
        } catch (VerifyError e) {
            return "VerifyError";
        } catch (Exception e) {
            return e.toString();
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes = bytesOf(Job.class);
        List<WeakReference<Class<?>>> loaded = new ArrayList<>();
        for (int i = 0; i < LOADERS; i++) {
            Class<?> type = load(bytes);
            loaded.add(new WeakReference<>(type));
            runOne(type);
            if (i % 100 == 99) {
                System.gc();
            }
        }
        for (int i = 0; i < HIDDEN; i++) {
            runOne(MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass());
        }
        System.out.println("refused: " + refused(bytes));
        for (int i = 0; i < 50 && loaded.get(0).get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        System.out.println("unloaded: " + (loaded.get(0).get() == null));
        System.out.println("expect total ManyClasses$Job.run " + LOADERS);
        System.out.println("expect total ManyClasses$Job.step " + 3 * LOADERS);
        System.out.println("expect total ManyClasses$Job.<init> " + 2 * LOADERS);
    }
}
