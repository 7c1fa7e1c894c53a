/*
 * Synchronized methods, static and instance, and a synchronized block, contended by two threads.
 *
 * Expected:
 *   thread main
 *     1 Synchronized.main
 *       1 Synchronized.<init>
 *       2 Synchronized$Worker.<init>
 *   thread left from main
 *     1 Synchronized$Worker.run
 *       2000 Synchronized.ofClass
 *         2000 Synchronized.leaf
 *       2000 Synchronized.ofObject
 *         2000 Synchronized.leaf
 *       2000 Synchronized.block
 *         2000 Synchronized.leaf
 *       2000 Synchronized.throwing
 *   thread right from main
 *     1 Synchronized$Worker.run
 *       2000 Synchronized.ofClass
 *         2000 Synchronized.leaf
 *       2000 Synchronized.ofObject
 *         2000 Synchronized.leaf
 *       2000 Synchronized.block
 *         2000 Synchronized.leaf
 *       2000 Synchronized.throwing
 *   total Synchronized.leaf 12000
 */
public class Synchronized {
    static final int ROUNDS = 2000;
    static int ofClass;
    int ofObject;
    int ofBlock;

    static int leaf(int n) {
        return n + 1;
    }

    static synchronized void ofClass() {
        ofClass = leaf(ofClass);
    }

    synchronized void ofObject() {
        ofObject = leaf(ofObject);
    }

    void block() {
        synchronized (this) {
            ofBlock = leaf(ofBlock);
        }
    }

    synchronized void throwing() {
        throw new IllegalStateException();
    }

    static class Worker extends Thread {
        final Synchronized shared;

        Worker(String name, Synchronized shared) {
            super(name);
            this.shared = shared;
        }

        @Override
        public void run() {
            for (int i = 0; i < ROUNDS; i++) {
                ofClass();
                shared.ofObject();
                shared.block();
                try {
                    shared.throwing();
                } catch (IllegalStateException e) {
                    continue;
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Synchronized shared = new Synchronized();
        Worker left = new Worker("left", shared);
        Worker right = new Worker("right", shared);
        left.start();
        right.start();
        left.join();
        right.join();
        System.out.println(ofClass + " " + shared.ofObject + " " + shared.ofBlock);
    }
}
