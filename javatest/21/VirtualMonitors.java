/*
 * Object monitors between virtual threads: contended methods and blocks, some left only after a nap inside; a queue
 * of one element by wait and notifyAll; and a wait with a time limit. On JDKs before 24 a virtual thread that naps
 * in a monitor keeps its carrier, which has a node of its own.
 *
 * Expected:
 *   skip java.lang.VirtualThread.parkOnCarrierThread
 *   thread main
 *     1 VirtualMonitors.<clinit>
 *       1 VirtualMonitors.<init>
 *     1 VirtualMonitors.main
 *   virtual adds-{0..7} from main
 *     1 VirtualMonitors.adds
 *       200 VirtualMonitors.addToClass
 *         200 VirtualMonitors.leaf
 *       200 VirtualMonitors.addToObject
 *         200 VirtualMonitors.leaf
 *       200 VirtualMonitors.addInBlock
 *         200 VirtualMonitors.leaf
 *         4 VirtualMonitors.nap
 *   virtual producer from main
 *     1 VirtualMonitors.produces
 *       500 VirtualMonitors.put
 *   virtual consumer from main
 *     1 VirtualMonitors.consumes
 *       500 VirtualMonitors.take
 *         500 VirtualMonitors.leaf
 *   virtual timed from main
 *     1 VirtualMonitors.waits
 *       5 VirtualMonitors.waitFor
 *   total VirtualMonitors.leaf 5300
 */
import java.util.ArrayList;
import java.util.List;

public class VirtualMonitors {
    static final VirtualMonitors SHARED = new VirtualMonitors();
    static int ofClass;
    int ofObject;
    int ofBlock;
    int element;
    int consumed;

    static int leaf(int n) {
        return n + 1;
    }

    static void nap() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static synchronized void addToClass() {
        ofClass = leaf(ofClass);
    }

    synchronized void addToObject() {
        ofObject = leaf(ofObject);
    }

    void addInBlock(boolean naps) {
        synchronized (this) {
            ofBlock = leaf(ofBlock);
            if (naps) {
                nap();
            }
        }
    }

    static void adds() {
        for (int i = 0; i < 200; i++) {
            addToClass();
            SHARED.addToObject();
            SHARED.addInBlock(i % 50 == 0);
        }
    }

    synchronized void put(int n) throws InterruptedException {
        while (element != 0) {
            wait();
        }
        element = n;
        notifyAll();
    }

    synchronized void take() throws InterruptedException {
        while (element == 0) {
            wait();
        }
        consumed = leaf(consumed) + element - 1;
        element = 0;
        notifyAll();
    }

    synchronized void waitFor(long millis) throws InterruptedException {
        wait(millis);
    }

    static void produces() {
        try {
            for (int i = 1; i <= 500; i++) {
                SHARED.put(i);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void consumes() {
        try {
            for (int i = 0; i < 500; i++) {
                SHARED.take();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void waits() {
        try {
            for (int i = 0; i < 5; i++) {
                SHARED.waitFor(1);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofVirtual().name("adds-" + i).start(VirtualMonitors::adds));
        }
        threads.add(Thread.ofVirtual().name("producer").start(VirtualMonitors::produces));
        threads.add(Thread.ofVirtual().name("consumer").start(VirtualMonitors::consumes));
        threads.add(Thread.ofVirtual().name("timed").start(VirtualMonitors::waits));
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(ofClass + " " + SHARED.ofObject + " " + SHARED.ofBlock + " " + SHARED.consumed);
    }
}
