import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that park at every level of recursion, on the way down and on the way up, many at a time. */
public class Sinking {
    static final int THREADS = 100;
    static final int DEPTH = 3;

    static void sink(int n) {
        pause();
        if (n > 0) {
            rise(n - 1);
        }
        pause();
        leaf();
    }

    static void rise(int n) {
        sink(n);
    }

    static void pause() {
        LockSupport.parkNanos(100_000);
    }

    static void leaf() {
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(Thread.ofVirtual().name("sinks-" + i).start(() -> sink(DEPTH)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
