/*
 * Virtual threads that cannot be unmounted, for they are in a method that native code called: they block their
 * carrier when they sleep and park. The method of the JDK that does so has a node of its own. After it they are
 * unmounted again as ever.
 *
 * Expected:
 *   thread main
 *     1 VirtualPinned.<clinit>
 *     1 VirtualPinned.main
 *   virtual pinned-{0..3} from main
 *     1 VirtualPinned.run
 *       4 VirtualPinned.sleeps
 *       2 VirtualPinned.callBack
 *         6 VirtualPinned.called
 *           6 VirtualPinned.sleeps
 *             6 java.lang.VirtualThread.parkOnCarrierThread
 *           6 VirtualPinned.parks
 *             6 java.lang.VirtualThread.parkOnCarrierThread
 *   virtual free from main
 *     1 VirtualPinned.unpinned
 *       10 VirtualPinned.sleeps
 *       1 VirtualPinned.callBack
 *   virtual fails from main
 *     1 VirtualPinned.catches
 *       1 VirtualPinned.callBack
 *         1 VirtualPinned.called
 *           1 VirtualPinned.sleeps
 *             1 java.lang.VirtualThread.parkOnCarrierThread
 *           1 VirtualPinned.parks
 *             1 java.lang.VirtualThread.parkOnCarrierThread
 *       1 VirtualPinned.sleeps
 *   pinned pinned-{0..3} 12
 *   pinned free 0
 *   pinned fails 2
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

public class VirtualPinned {
    static final AtomicInteger CALLED = new AtomicInteger();

    static {
        System.loadLibrary("virtual_pinned");
    }

    /** Calls called(0..n-1), unless one of them throws. */
    static native void callBack(int n, boolean fails);

    static void sleeps() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A permit that is left from before would let it go on at once. */
    static void parks() {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        LockSupport.parkNanos(1_000_000);
    }

    static void called(int n, boolean fails) {
        CALLED.incrementAndGet();
        sleeps();
        parks();
        if (fails) {
            throw new IllegalStateException();
        }
    }

    static void run() {
        for (int i = 0; i < 2; i++) {
            sleeps();
            callBack(3, false);
            sleeps();
        }
    }

    static void unpinned() {
        callBack(0, false);
        for (int i = 0; i < 10; i++) {
            sleeps();
        }
    }

    static void catches() {
        try {
            callBack(3, true);
        } catch (IllegalStateException e) {
            sleeps();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofVirtual().name("pinned-" + i).start(VirtualPinned::run));
        }
        threads.add(Thread.ofVirtual().name("free").start(VirtualPinned::unpinned));
        threads.add(Thread.ofVirtual().name("fails").start(VirtualPinned::catches));
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(CALLED.get());
    }
}
