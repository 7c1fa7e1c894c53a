import java.io.IOException;
import java.io.InputStream;
import java.util.Scanner;

/**
 * Calls default and static methods of an interface when it is told to, while another thread defines classes that
 * implement interfaces with default methods, as fast as it can. `count N` makes N calls of each, `loaded` says how many
 * classes were defined.
 */
public class KeptInterfaces {
    public interface Counting {
        int plain(int n);

        default int twice(int n) {
            return plain(n) + plain(n + 1);
        }

        static int thrice(int n) {
            return 3 * n + n % 2;
        }
    }

    public static class Counter implements Counting, java.util.function.IntUnaryOperator {
        @Override
        public int plain(int n) {
            return n + 1;
        }

        @Override
        public int applyAsInt(int n) {
            return n;
        }
    }

    static class Loader extends ClassLoader {
        Loader() {
            super(KeptInterfaces.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass("KeptInterfaces$Counter", bytes, 0, bytes.length);
        }
    }

    static volatile boolean over;
    static volatile long loaded;

    static void load(byte[] bytes) {
        try {
            while (!over) {
                for (int i = 0; i < 500 && !over; i++, loaded++) {
                    new Loader().define(bytes).getDeclaredConstructor().newInstance();
                }
                System.gc(); // or dropped loaders would pile up
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static int count(int times) {
        Counting counting = new Counter();
        int sum = 0;
        for (int i = 0; i < times; i++) {
            sum += counting.twice(i) - Counting.thrice(i);
        }
        return sum;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        byte[] bytes;
        try (InputStream in = KeptInterfaces.class.getResourceAsStream("KeptInterfaces$Counter.class")) {
            bytes = in.readAllBytes();
        }
        count(1);
        Thread loads = new Thread(() -> load(bytes), "loads");
        loads.start();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            if (in.next().equals("count")) {
                System.out.println("counted " + count(in.nextInt()));
            } else {
                System.out.println("loaded " + loaded);
            }
        }
        over = true;
        loads.join();
        System.out.println("over");
    }
}
