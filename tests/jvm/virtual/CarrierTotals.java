import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Two virtual threads, one after the other on each of two carriers, that write and read files and then burn CPU time side by
 * side. Each says how many bytes it wrote and read, and what the kernel says of its carrier's time in the run queue,
 * from the thread's beginning to its end.
 */
public class CarrierTotals {
    static final int BLOCK = 4096;
    static volatile long sink;

    static long runQueueNs() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).trim().split(" ")[1]);
    }

    static void transfer(Path file, int blocks) throws IOException {
        byte[] bytes = new byte[BLOCK];
        try (RandomAccessFile random = new RandomAccessFile(file.toFile(), "rw")) {
            for (int i = 0; i < blocks; i++) {
                random.seek(0);
                random.write(bytes);
                random.seek(0);
                random.readFully(bytes);
            }
        }
    }

    static void burn(long ms) {
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end; ) {
            for (int i = 0; i < 10_000; i++)
                sink += i;
        }
    }

    static void work(Path folder, int number) {
        try {
            long before = runQueueNs();
            transfer(folder.resolve("file-" + number), 100 * number);
            burn(400);
            System.out.println("vt-" + number + " " + 100 * number * BLOCK + " " + (runQueueNs() - before));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Path folder = Path.of(arguments[0]);
        work(folder, 0); // loads the classes
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int number = i + 1;
            threads[i] = Thread.ofVirtual().name("vt-" + number).start(() -> work(folder, number));
        }
        for (Thread thread : threads)
            thread.join();
    }
}
