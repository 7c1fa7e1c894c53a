/*
 * A virtual thread is interrupted while it sleeps, while it is parked, while it waits for an element of a queue, and
 * before it begins to sleep; the exceptions are caught three frames above.
 *
 * Expected:
 *   thread main
 *     1 VirtualInterrupts.<clinit>
 *     1 VirtualInterrupts.main
 *       3 VirtualInterrupts.interrupt
 *   virtual interrupted from main
 *     1 VirtualInterrupts.run
 *       1 VirtualInterrupts.tries
 *         3 VirtualInterrupts.down * 3
 *           1 VirtualInterrupts.sleeps
 *           1 VirtualInterrupts.takes
 *           1 VirtualInterrupts.sleepsInterrupted
 *         3 VirtualInterrupts.caught
 *       1 VirtualInterrupts.parks
 *       1 VirtualInterrupts.after
 */
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

public class VirtualInterrupts {
    static final LinkedBlockingQueue<String> EMPTY = new LinkedBlockingQueue<>();
    static volatile int caught;

    static void sleeps() throws InterruptedException {
        Thread.sleep(1_000_000);
    }

    static void takes() throws InterruptedException {
        EMPTY.take();
    }

    static void sleepsInterrupted() throws InterruptedException {
        Thread.currentThread().interrupt();
        Thread.sleep(1_000_000);
    }

    static void parks() {
        while (!Thread.interrupted()) {
            LockSupport.park();
        }
    }

    static void down(int n, int way) throws InterruptedException {
        if (n > 1) {
            down(n - 1, way);
        } else if (way == 0) {
            sleeps();
        } else if (way == 1) {
            takes();
        } else {
            sleepsInterrupted();
        }
    }

    static void caught() {
        caught++;
    }

    static void tries() {
        for (int way = 0; way < 3; way++) {
            try {
                down(3, way);
            } catch (InterruptedException e) {
                caught();
            }
        }
    }

    static void after() {
    }

    static void run() {
        tries();
        parks();
        after();
    }

    /** As soon as the thread is in that state after the so manieth exception. */
    static void interrupt(Thread thread, Thread.State state, int after) throws InterruptedException {
        while (caught != after || thread.getState() != state) {
            Thread.sleep(1);
        }
        thread.interrupt();
    }

    public static void main(String[] args) throws InterruptedException {
        Thread thread = Thread.ofVirtual().name("interrupted").start(VirtualInterrupts::run);
        interrupt(thread, Thread.State.TIMED_WAITING, 0);
        interrupt(thread, Thread.State.WAITING, 1);
        interrupt(thread, Thread.State.WAITING, 3);
        thread.join();
        System.out.println(caught + " " + thread.isInterrupted());
    }
}
