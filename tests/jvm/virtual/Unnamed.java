import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Virtual threads without a name, started in three places. */
class Unnamed {
    static int work(int n) {
        return n + 1;
    }

    static List<Thread> first(int count) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(Thread.startVirtualThread(() -> work(1)));
        }
        return threads;
    }

    static List<Thread> second(int count) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add(Thread.ofVirtual().start(() -> work(2)));
        }
        return threads;
    }

    static void pooled(int count) {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < count; i++) {
                executor.submit(() -> work(3));
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int times = Integer.parseInt(args[0]);
        List<Thread> threads = first(3 * times);
        threads.addAll(second(5 * times));
        pooled(7 * times);
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
