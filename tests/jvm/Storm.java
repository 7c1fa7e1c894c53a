import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.zip.Deflater;

/**
 * Stacks that change all the time: compiled code that is thrown away and made anew, with classes that come and
 * go; exceptions; deep recursion; garbage; copies and native code; virtual threads where the JDK has them. The
 * argument is the number of rounds; the results are the same each time.
 */
public class Storm {
    /** Compiled for the shapes that it has seen: a further one makes that code invalid. */
    public interface Shape {
        int area(int side);
    }

    public static class Square implements Shape {
        @Override
        public int area(int side) {
            return side * side;
        }
    }

    public static class Half implements Shape {
        @Override
        public int area(int side) {
            return side * side / 2;
        }
    }

    public static class Line implements Shape {
        @Override
        public int area(int side) {
            return 0;
        }
    }

    public static class Hot implements Callable<Long> {
        static long sum(Shape shape, int[] sides) {
            long sum = 0;
            for (int side : sides) {
                sum += shape.area(side);
            }
            return sum;
        }

        static int length(Object text) {
            return text instanceof String ? ((String) text).length() : text.hashCode() & 1;
        }

        static long several(Shape shape, int[] sides) {
            long sum = 0;
            for (int i = 0; i < 10_000; i++) {
                sum += sum(shape, sides) + length("text");
            }
            return sum;
        }

        @Override
        public Long call() {
            int[] sides = new int[20];
            Arrays.setAll(sides, i -> i);
            long sum = several(new Square(), sides);
            sum += several(new Half(), sides);
            sum += several(new Line(), sides);
            for (int i = 0; i < 100; i++) {
                sum += length(i) + length(null == sides ? "" : "more");
            }
            return sum;
        }
    }

    /** Of the class path's bytes, but each is another class. */
    static class Loader extends ClassLoader {
        Loader() {
            super(Storm.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Storm$") || name.equals("Storm$Loader")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static long deoptimised(int round) throws Exception {
        Object hot = new Loader().loadClass("Storm$Hot").getDeclaredConstructor().newInstance();
        return (Long) ((Callable<?>) hot).call();
    }

    static int thrower(int n, int[] none) {
        try {
            return n == 0 ? none.length : thrower(n - 1, none) + 1;
        } catch (ArithmeticException e) {
            return n;
        }
    }

    static long thrown(int round) {
        long sum = 0;
        for (int i = 0; i < 3000; i++) {
            try {
                sum += thrower(i % 30, i % 2 == 0 ? null : new int[i % 5]);
            } catch (NullPointerException e) {
                sum++;
            }
        }
        return sum;
    }

    static int down(int n) {
        return n == 0 ? 1 : down(n - 1) + (n & 3);
    }

    static long deep(int round) {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            sum += down(600 + i % 7);
        }
        return sum;
    }

    static long garbage(int round) {
        List<Object> alive = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < 6000; i++) {
            int[] array = new int[200 + i % 300];
            array[i % 200] = i;
            String text = "text " + i;
            if (i % 4 == 0) {
                alive.add(array);
                alive.add(text);
            }
            sum += array[i % 200] + text.length();
        }
        return sum + alive.size();
    }

    static long copied(int round) throws Exception {
        byte[] from = new byte[100_000];
        byte[] to = new byte[100_000];
        long sum = 0;
        for (int i = 0; i < 60; i++) {
            from[i] = (byte) i;
            System.arraycopy(from, i, to, i / 2, 90_000);
            sum += to[i];
        }
        Deflater deflater = new Deflater();
        deflater.setInput(to);
        deflater.finish();
        sum += deflater.deflate(from) > 0 ? 1 : 0;
        deflater.end();
        Method method = Storm.class.getDeclaredMethod("down", int.class);
        for (int i = 0; i < 40; i++) {
            sum += (Integer) method.invoke(null, i);
        }
        return sum;
    }

    static long queued(int round) throws Exception {
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>(5);
        LinkedBlockingQueue<Integer> back = new LinkedBlockingQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(startLight(() -> {
                try {
                    for (int n = queue.take(); n >= 0; n = queue.take()) {
                        back.put(down(n % 100));
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            queue.put(i);
        }
        for (int i = 0; i < 400; i++) {
            sum += back.take();
        }
        for (int i = 0; i < 8; i++) {
            queue.put(-1);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return sum;
    }

    static Thread startLight(Runnable work) throws Exception {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
        } catch (NoSuchMethodException e) { // before 21
            Thread thread = new Thread(work);
            thread.start();
            return thread;
        }
    }

    interface Task {
        long run(int round) throws Exception;
    }

    static long repeated(Task task, int rounds) throws Exception {
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            sum += task.run(round);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        List<Task> tasks = List.of(Storm::deoptimised, Storm::thrown, Storm::deep, Storm::garbage, Storm::copied,
                                   Storm::queued);
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Long>> results = new ArrayList<>();
        for (Task task : tasks) {
            results.add(pool.submit(() -> repeated(task, rounds)));
        }
        for (Future<Long> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
    }
}
