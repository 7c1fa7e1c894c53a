import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/**
 * A little of everything that the JDK has, so that its own methods run with hooks. `expect below CALLER METHOD
 * N` says how many calls of a JDK's method one of ours made itself.
 */
public class Everything {
    static final int N = 1000;

    static int lists() {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < N; i++) {
            list.add(i * 7919 % N);
        }
        Collections.sort(list);
        return list.get(N / 2);
    }

    static int maps() {
        Map<String, Integer> hashed = new HashMap<>();
        Map<String, Integer> sorted = new TreeMap<>(Collections.reverseOrder());
        for (int i = 0; i < N; i++) {
            hashed.put("key " + i, i);
            sorted.put("key " + i, i);
        }
        return hashed.get("key 17") + sorted.size();
    }

    static int deques() {
        ArrayDeque<Integer> deque = new ArrayDeque<>();
        for (int i = 0; i < N; i++) {
            deque.push(i);
        }
        return deque.peekLast() + deque.size();
    }

    static int numbers() {
        BigInteger product = BigInteger.ONE;
        for (int i = 1; i <= 50; i++) {
            product = product.multiply(BigInteger.valueOf(i));
        }
        return product.toString().length();
    }

    static String texts() {
        Matcher matcher = Pattern.compile("(\\w+)@(\\w+)\\.org").matcher("a@b.org, someone@else.org");
        StringBuilder found = new StringBuilder();
        while (matcher.find()) {
            found.append(matcher.group(2)).append(';');
        }
        return found + String.format(Locale.ROOT, "%08.3f %s %x", Math.PI, LocalDate.of(2000, 2, 28).plusDays(2),
                                     "text".hashCode()) + String.join("-", List.of("x", "y"));
    }

    static String streams() {
        return IntStream.range(0, 100).boxed().collect(Collectors.groupingBy(i -> i % 3, Collectors.counting()))
                .toString();
    }

    record Point(int x, int y) implements Serializable {
    }

    static String bytes() throws IOException, ClassNotFoundException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(new GZIPOutputStream(packed))) {
            out.writeObject(new ArrayList<>(List.of(new Point(1, 2), new Point(3, 4))));
        }
        try (ObjectInputStream in = new ObjectInputStream(
                new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray())))) {
            return in.readObject() + Base64.getEncoder().encodeToString("bytes".getBytes(StandardCharsets.UTF_8));
        }
    }

    static int reflected(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("negative");
        }
        return n + 1;
    }

    static String reflection() throws Throwable {
        Method method = Everything.class.getDeclaredMethod("reflected", int.class);
        MethodHandle handle = MethodHandles.lookup().findStatic(Everything.class, "reflected",
                                                               MethodType.methodType(int.class, int.class));
        int sum = 0;
        for (int i = 0; i < 50; i++) {
            sum += (int) method.invoke(null, i) + (int) handle.invokeExact(i);
        }
        try {
            method.invoke(null, -1);
        } catch (java.lang.reflect.InvocationTargetException e) {
            return sum + " " + e.getCause().getMessage();
        }
        return "?";
    }

    static int threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        ConcurrentHashMap<Integer, Integer> counts = new ConcurrentHashMap<>();
        ReentrantLock lock = new ReentrantLock();
        int[] sum = {0};
        List<Future<?>> futures = new ArrayList<>();
        for (int t = 0; t < 6; t++) {
            futures.add(pool.submit(() -> {
                for (int i = 0; i < 100; i++) {
                    counts.merge(i % 10, 1, Integer::sum);
                    lock.lock();
                    try {
                        sum[0]++;
                    } finally {
                        lock.unlock();
                    }
                }
            }));
        }
        for (Future<?> future : futures) {
            future.get();
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        return sum[0] + counts.get(3);
    }

    static int overflow(int depth) {
        return overflow(depth + 1) + 1;
    }

    static String deep() {
        try {
            return "? " + overflow(0);
        } catch (StackOverflowError e) {
            return "overflow";
        }
    }

    static int garbage() {
        Random random = new Random(42);
        int sum = 0;
        for (int i = 0; i < 2000; i++) {
            sum += new int[1000 + random.nextInt(1000)].length;
        }
        System.gc();
        return sum;
    }

    public static void main(String[] args) throws Throwable {
        System.out.println(lists() + " " + maps() + " " + deques() + " " + numbers());
        System.out.println(texts() + " " + streams());
        System.out.println(bytes() + " " + reflection());
        System.out.println(threads() + " " + deep() + " " + garbage());
        System.out.println("expect below Everything.lists java.util.ArrayList.add(Ljava/lang/Object;)Z " + N);
        System.out.println("expect below Everything.maps java.util.HashMap.put " + N);
        System.out.println("expect below Everything.maps java.util.TreeMap.put " + N);
        System.out.println("expect below Everything.deques java.util.ArrayDeque.push " + N);
        System.out.println("expect below Everything.numbers java.math.BigInteger.valueOf " + 50);
    }
}
