/*
 * Virtual threads that start virtual threads, three generations; some wait for their children, some are over before
 * these have begun; and a virtual thread that starts a platform thread, which starts a virtual one.
 *
 * Expected:
 *   thread main
 *     1 VirtualFamily.<clinit>
 *     1 VirtualFamily.main
 *       4 VirtualFamily.start
 *         4 VirtualFamily.<init>
 *   virtual family-{0..1} from main
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *       2 VirtualFamily.join
 *   virtual family-0-{0..1} from family-0
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *       2 VirtualFamily.join
 *   virtual family-1-{0..1} from family-1
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *       2 VirtualFamily.join
 *   virtual family-0-0-{0..1} from family-0-0
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual family-0-1-{0..1} from family-0-1
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual family-1-0-{0..1} from family-1-0
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual family-1-1-{0..1} from family-1-1
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual hasty-{0..1} from main
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *   virtual hasty-0-{0..1} from hasty-0
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *   virtual hasty-1-{0..1} from hasty-1
 *     1 VirtualFamily.run
 *       2 VirtualFamily.start
 *         2 VirtualFamily.<init>
 *   virtual hasty-0-0-{0..1} from hasty-0-0
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual hasty-0-1-{0..1} from hasty-0-1
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual hasty-1-0-{0..1} from hasty-1-0
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual hasty-1-1-{0..1} from hasty-1-1
 *     1 VirtualFamily.run
 *       1 VirtualFamily.leaf
 *   virtual mixed from main
 *     1 VirtualFamily.startsPlatform
 *       1 VirtualFamily.join
 *   thread platform from mixed
 *     1 VirtualFamily.startsVirtual
 *       1 VirtualFamily.join
 *   virtual last from platform
 *     1 VirtualFamily.leaf
 */
import java.util.concurrent.CountDownLatch;

public class VirtualFamily implements Runnable {
    /** 8 of each family are the last generation. */
    static final CountDownLatch LAST = new CountDownLatch(16);

    final String name;
    final int generation;
    final boolean waits;

    VirtualFamily(String name, int generation, boolean waits) {
        this.name = name;
        this.generation = generation;
        this.waits = waits;
    }

    static Thread start(String name, int generation, boolean waits) {
        return Thread.ofVirtual().name(name).start(new VirtualFamily(name, generation, waits));
    }

    static void leaf() {
        LAST.countDown();
    }

    @Override
    public void run() {
        if (generation == 3) {
            leaf();
            return;
        }
        Thread first = start(name + "-0", generation + 1, waits);
        Thread second = start(name + "-1", generation + 1, waits);
        if (waits) {
            join(first);
            join(second);
        }
    }

    static void startsPlatform() {
        join(Thread.ofPlatform().name("platform").start(VirtualFamily::startsVirtual));
    }

    static void startsVirtual() {
        join(Thread.ofVirtual().name("last").start(VirtualFamily::leaf));
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 2; i++) {
            threads[i] = start("family-" + i, 1, true);
            threads[2 + i] = start("hasty-" + i, 1, false);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        LAST.await();
        Thread.ofVirtual().name("mixed").start(VirtualFamily::startsPlatform).join();
        System.out.println(LAST.getCount());
    }
}
