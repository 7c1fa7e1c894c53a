import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;

/**
 * Calls methods at very different rates, and counts its calls itself, by thread and method. `rounds N` lets
 * two platform threads and, where the JDK has them, two virtual ones do N rounds each; `counts` tells all
 * counts so far. Between two answers no thread but main is there.
 */
public class Budget {
    static final int RARE = 10_000; // rounds
    static final Map<String, Long> COUNTS = new TreeMap<>();
    static volatile int result;

    static class Worker implements Runnable {
        final int rounds;
        long hot;
        long warm;
        long hotThrower;
        long hotRecursion;
        long rare;
        long thrower;
        long recursion;
        long middle;

        Worker(int rounds) {
            this.rounds = rounds;
        }

        int hot(int n) {
            hot++;
            return n * 31 ^ n >>> 3;
        }

        int warm(int n) {
            warm++;
            int sum = n;
            for (int i = 0; i < 10_000; i++) {
                sum += hot(sum ^ i);
            }
            return sum;
        }

        int hotThrower(int n) {
            hotThrower++;
            if ((n & 1) == 0) {
                throw new IllegalStateException();
            }
            return warm(n);
        }

        int hotRecursion(int n) {
            hotRecursion++;
            return n == 0 ? 1 : hotRecursion(n - 1) + n;
        }

        /* What stands above hot methods and is not hot itself. */
        int middle(int n) {
            middle++;
            return hotRecursion(10) + hot(n);
        }

        int rare(int n) {
            rare++;
            return middle(n) + 1;
        }

        int thrower(int n) {
            thrower++;
            if (n % (2 * RARE) == 0) {
                throw new IllegalArgumentException();
            }
            return middle(n) + 2;
        }

        int recursion(int n) {
            recursion++;
            return n == 0 ? hot(n) : recursion(n - 1) + 3;
        }

        int round(int n) {
            int sum = 0;
            try {
                sum += hotThrower(n);
            } catch (IllegalStateException e) {
                sum += hotRecursion(3);
            }
            if (n % RARE == 0) {
                sum += rare(n) + recursion(2);
                try {
                    sum += thrower(n);
                } catch (IllegalArgumentException e) {
                    sum++;
                }
            }
            return sum;
        }

        @Override
        public void run() {
            for (int i = 0; i < rounds; i++) {
                result += round(i);
            }
        }

        void add(String thread) {
            long[] counts = {hot, warm, hotThrower, hotRecursion, rare, thrower, recursion, middle, rounds, 1};
            String[] names = {"hot", "warm", "hotThrower", "hotRecursion", "rare", "thrower", "recursion",
                "middle", "round", "run"};
            for (int i = 0; i < names.length; i++) {
                COUNTS.merge(thread + "/" + names[i], counts[i], Long::sum);
            }
        }
    }

    /* Loaded, and nothing of it is ever called. */
    abstract static class Kinds {
        int value;

        int get() {
            return value;
        }

        int never(int n) {
            return value * n + Integer.bitCount(n) + get();
        }

        native int read0();

        abstract int todo();
    }

    static Thread virtual(String name, Runnable work) throws ReflectiveOperationException {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("start", Runnable.class).invoke(builder, work);
    }

    static void rounds(int count, boolean withVirtual) throws ReflectiveOperationException, InterruptedException {
        List<Thread> threads = new ArrayList<>();
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < (withVirtual ? 4 : 2); i++) {
            Worker worker = new Worker(count);
            workers.add(worker);
            if (i < 2) {
                threads.add(new Thread(worker, "platform-" + i));
                threads.get(i).start();
            } else {
                threads.add(virtual("virtual-" + i, worker));
            }
        }
        for (int i = 0; i < workers.size(); i++) {
            threads.get(i).join();
            workers.get(i).add(threads.get(i).getName());
        }
    }

    public static void main(String[] arguments) throws ReflectiveOperationException, InterruptedException {
        boolean withVirtual = Runtime.version().feature() >= 21;
        System.out.println("ready " + Kinds.class.getSimpleName());
        try (Scanner lines = new Scanner(System.in)) {
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().split(" ");
                if (words[0].equals("rounds")) {
                    rounds(Integer.parseInt(words[1]), withVirtual);
                    System.out.println("done");
                } else {
                    StringBuilder line = new StringBuilder();
                    COUNTS.forEach((name, calls) -> line.append(name).append('=').append(calls).append(' '));
                    System.out.println(line);
                }
            }
        }
    }
}
