/*
 * Tasks of an executor, each on a virtual thread of its own with a name: they sleep, yield and park with a time
 * limit, and so go on elsewhere in the middle of a call. Main submits them, so it is their parent. Each has call()
 * twice: the compiler's bridge to it, and itself.
 *
 * Expected:
 *   thread main
 *     1 VirtualExecutor.main
 *       40 VirtualExecutor.<init>
 *   virtual task-{0..39} from main
 *     1 VirtualExecutor.call * 2
 *       5 VirtualExecutor.sleeps
 *         5 VirtualExecutor.leaf
 *       5 VirtualExecutor.yields
 *         5 VirtualExecutor.leaf
 *       5 VirtualExecutor.parks
 *         5 VirtualExecutor.leaf
 *       15 VirtualExecutor.leaf
 *   total VirtualExecutor.leaf 1200
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

public class VirtualExecutor implements Callable<Integer> {
    static int leaf(int n) {
        return n + 1;
    }

    static int sleeps(int n) throws InterruptedException {
        Thread.sleep(1);
        return leaf(n);
    }

    static int yields(int n) {
        Thread.yield();
        return leaf(n);
    }

    static int parks(int n) {
        LockSupport.parkNanos(100_000);
        return leaf(n);
    }

    @Override
    public Integer call() throws InterruptedException {
        int sum = 0;
        for (int i = 0; i < 5; i++) {
            sum = leaf(sleeps(sum));
            sum = leaf(yields(sum));
            sum = leaf(parks(sum));
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        List<Future<Integer>> futures = new ArrayList<>();
        int sum = 0;
        try (ExecutorService executor =
                     Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("task-", 0).factory())) {
            for (int i = 0; i < 40; i++) {
                futures.add(executor.submit(new VirtualExecutor()));
            }
            for (Future<Integer> future : futures) {
                sum += future.get();
            }
        }
        System.out.println(sum);
    }
}
