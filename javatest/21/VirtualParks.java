/*
 * Ping-pong between two virtual threads by park and unpark, and a third one whose permit is there before it parks,
 * so that it does not stop.
 *
 * Expected:
 *   thread main
 *     1 VirtualParks.main
 *       2 VirtualParks.<init>
 *   virtual ping from main
 *     1 VirtualParks.run
 *       1000 VirtualParks.await
 *       1000 VirtualParks.hit
 *         1000 VirtualParks.leaf
 *   virtual pong from main
 *     1 VirtualParks.run
 *       1000 VirtualParks.await
 *       1000 VirtualParks.hit
 *         1000 VirtualParks.leaf
 *   virtual permit from main
 *     1 VirtualParks.permits
 *       500 VirtualParks.permit
 *         500 VirtualParks.leaf
 *   total VirtualParks.leaf 2500
 */
import java.util.concurrent.locks.LockSupport;

public class VirtualParks implements Runnable {
    static volatile int turn;
    static volatile int hits;
    static volatile int permits;
    final int mine;
    Thread other;

    VirtualParks(int mine) {
        this.mine = mine;
    }

    static int leaf(int n) {
        return n + 1;
    }

    void await() {
        while (turn != mine) {
            LockSupport.park();
        }
    }

    void hit() {
        hits = leaf(hits);
        turn = 1 - mine;
        LockSupport.unpark(other);
    }

    @Override
    public void run() {
        for (int i = 0; i < 1000; i++) {
            await();
            hit();
        }
    }

    static int permit(int n) {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        return leaf(n);
    }

    static void permits() {
        int n = 0;
        for (int i = 0; i < 500; i++) {
            n = permit(n);
        }
        permits = n;
    }

    public static void main(String[] args) throws InterruptedException {
        VirtualParks first = new VirtualParks(0);
        VirtualParks second = new VirtualParks(1);
        Thread ping = Thread.ofVirtual().name("ping").unstarted(first);
        Thread pong = Thread.ofVirtual().name("pong").unstarted(second);
        first.other = pong;
        second.other = ping;
        pong.start();
        ping.start();
        Thread permit = Thread.ofVirtual().name("permit").start(VirtualParks::permits);
        ping.join();
        pong.join();
        permit.join();
        System.out.println(hits + " " + permits);
    }
}
