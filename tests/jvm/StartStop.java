import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * Works while profiling is started and stopped: threads that call, recurse, throw and catch, and one that
 * loads a class anew all the time, in loaders that it drops. Each result is compared with what it must be.
 * `count N` makes N counted calls, `check` says how much was done and whether all of it was right.
 */
public class StartStop {
    static volatile boolean over;
    static volatile long wrong;
    static final List<Throwable> FAILED = new ArrayList<>();

    static int counted(int n) {
        return 3 * n + 1;
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static int thrower(int n) {
        if (n == 0) {
            throw new IllegalStateException();
        }
        try {
            return thrower(n - 1) + 1;
        } finally {
            touched(n);
        }
    }

    static void touched(int n) {
        if (n == 7) {
            throw new IllegalArgumentException();
        }
    }

    static int catcher(int n) {
        try {
            return thrower(n);
        } catch (IllegalStateException e) {
            return 1;
        } catch (IllegalArgumentException e) {
            return 2;
        }
    }

    static synchronized long guarded(long n) {
        return n * n;
    }

    static void calls() {
        if (fibonacci(12) != 144) {
            wrong++;
        }
        if (catcher(5) != 1 || catcher(9) != 2) {
            wrong++;
        }
        if (guarded(12) != 144) {
            wrong++;
        }
    }

    /** Of the class path's bytes, but each is another class. */
    static class Loader extends ClassLoader {
        final byte[] bytes;

        Loader(byte[] bytes) {
            super(StartStop.class.getClassLoader());
            this.bytes = bytes;
        }

        Class<?> define() {
            return defineClass("StartStop$Loaded", bytes, 0, bytes.length);
        }
    }

    public static class Loaded implements java.util.function.IntUnaryOperator {
        static int known = initial();

        static int initial() {
            return 40;
        }

        @Override
        public int applyAsInt(int n) {
            return known + n;
        }
    }

    static byte[] bytesOfLoaded() throws IOException {
        try (InputStream in = StartStop.class.getResourceAsStream("StartStop$Loaded.class")) {
            return in.readAllBytes();
        }
    }

    static void load(byte[] bytes) throws ReflectiveOperationException {
        Class<?> loaded = new Loader(bytes).define();
        Object made = loaded.getDeclaredConstructor().newInstance();
        if (((java.util.function.IntUnaryOperator) made).applyAsInt(2) != 42) {
            wrong++;
        }
    }

    static void loadSome(byte[] bytes) throws Exception {
        for (int i = 0; i < 50; i++) {
            load(bytes);
            Thread.sleep(1);
        }
        System.gc(); // or dropped loaders would pile up
    }

    interface Step {
        void run() throws Exception;
    }

    static class Worker extends Thread {
        final Step step;
        volatile long steps;

        Worker(String name, Step step) {
            super(name);
            this.step = step;
        }

        @Override
        public void run() {
            try {
                for (; !over; steps++) {
                    step.run();
                }
            } catch (Throwable e) {
                synchronized (FAILED) {
                    FAILED.add(e);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes = bytesOfLoaded();
        List<Worker> workers = List.of(new Worker("calls-0", StartStop::calls),
                                       new Worker("calls-1", StartStop::calls),
                                       new Worker("loads", () -> loadSome(bytes)));
        for (Worker worker : workers) {
            worker.start();
        }
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            if (in.next().equals("count")) {
                int sum = 0;
                int times = in.nextInt();
                for (int i = 0; i < times; i++) {
                    sum += counted(i);
                }
                System.out.println("counted " + sum);
            } else {
                System.out.println(workers.get(0).steps + " " + workers.get(1).steps + " "
                        + workers.get(2).steps + " wrong " + wrong + " failed " + FAILED);
            }
        }
        over = true;
        for (Worker worker : workers) {
            worker.join();
        }
        System.out.println("wrong " + wrong + " failed " + FAILED);
    }
}
