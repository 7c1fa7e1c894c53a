/*
 * Virtual threads without names, which the report calls by their numbers: started one by one, and by the executor
 * that is made for them; one that gets its name only after it was made, and one that gets another while it runs.
 *
 * Expected:
 *   thread main
 *     1 VirtualUnnamed.main
 *   virtuals 60 VirtualThread[[]#*] from main
 *     1 VirtualUnnamed.work
 *       3 VirtualUnnamed.nap
 *       1 VirtualUnnamed.leaf
 *   virtual "named late" from main
 *     1 VirtualUnnamed.work
 *       3 VirtualUnnamed.nap
 *       1 VirtualUnnamed.leaf
 *   virtual named from main
 *     1 VirtualUnnamed.renames
 *       1 VirtualUnnamed.work
 *         3 VirtualUnnamed.nap
 *         1 VirtualUnnamed.leaf
 *   renamed named "named anew"
 *   total VirtualUnnamed.leaf 62
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class VirtualUnnamed {
    static void nap() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void leaf() {
    }

    static void work() {
        for (int i = 0; i < 3; i++) {
            nap();
        }
        leaf();
    }

    static void renames() {
        Thread.currentThread().setName("named anew");
        work();
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            threads.add(Thread.startVirtualThread(VirtualUnnamed::work));
        }
        Thread late = Thread.ofVirtual().unstarted(VirtualUnnamed::work);
        late.setName("named late");
        late.start();
        threads.add(late);
        threads.add(Thread.ofVirtual().name("named").start(VirtualUnnamed::renames));
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 30; i++) {
                executor.submit(VirtualUnnamed::work);
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }
}
