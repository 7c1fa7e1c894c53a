import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;

/**
 * Calls what it is told to: `count N` calls a method N times, `load N` loads a class N times, each in a loader of its
 * own, and calls each copy once. `enter NAME` starts a thread that calls from within a method, and stays there;
 * `leave` lets all of these call once more, and ends them, and calls all copies once more. The answer is how many such
 * calls there were.
 */
public class SilentHooks {
    static int counted;
    public static int loaded; // by classes of other loaders
    static CountDownLatch gate = new CountDownLatch(1);
    static List<Thread> inside = new ArrayList<>();
    static List<Runnable> copies = new ArrayList<>();

    static synchronized void count() {
        counted++;
    }

    /** Of the class path's bytes, but each is another class. */
    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("SilentHooks$Loaded", bytes, 0, bytes.length);
        }
    }

    public static class Loaded implements Runnable {
        int runs = 1;

        @Override
        public void run() {
            loaded += runs;
        }
    }

    static void load() throws IOException, ReflectiveOperationException {
        try (InputStream in = SilentHooks.class.getResourceAsStream("SilentHooks$Loaded.class")) {
            Class<?> copy = new Loader().define(in.readAllBytes());
            Runnable made = (Runnable) copy.getDeclaredConstructor().newInstance();
            made.run();
            copies.add(made);
        }
    }

    static void stay(CountDownLatch entered) {
        count();
        entered.countDown();
        try {
            gate.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        count();
    }

    static void enter(String name) throws InterruptedException {
        CountDownLatch entered = new CountDownLatch(1);
        Thread thread = new Thread(() -> stay(entered), name);
        inside.add(thread);
        thread.start();
        entered.await();
    }

    static void leave() throws InterruptedException {
        gate.countDown();
        for (Thread thread : inside) {
            thread.join();
        }
        inside.clear();
        copies.forEach(Runnable::run);
        copies.clear();
        gate = new CountDownLatch(1);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            switch (in.next()) {
                case "enter" -> enter(in.next());
                case "leave" -> leave();
                case "load" -> {
                    for (int n = in.nextInt(); n > 0; n--) {
                        load();
                    }
                }
                default -> {
                    for (int n = in.nextInt(); n > 0; n--) {
                        count();
                    }
                }
            }
            System.out.println(counted + loaded);
        }
    }
}
