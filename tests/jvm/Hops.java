import java.lang.reflect.Method;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;

/**
 * Virtual threads that live as long as the program and work when they are told: for each line with a number
 * each makes so many counted calls, and sleeps after each, so that it changes carriers.
 */
public class Hops implements Runnable {
    static final int THREADS = 8;
    static volatile int times;
    static volatile boolean over;
    static volatile CountDownLatch done;

    final Semaphore turn = new Semaphore(0);

    static int counted(int n) {
        return n + 1;
    }

    static void work() throws InterruptedException {
        for (int i = 0; i < times; i++) {
            counted(i);
            Thread.sleep(1);
        }
    }

    @Override
    public void run() {
        try {
            for (turn.acquire(); !over; turn.acquire()) {
                work();
                done.countDown();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class); // compiled for 17
        Hops[] hops = new Hops[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            hops[i] = new Hops();
            threads[i] = (Thread) start.invoke(null, hops[i]);
        }
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNextInt();) {
            times = in.nextInt();
            done = new CountDownLatch(THREADS);
            for (Hops hop : hops) {
                hop.turn.release();
            }
            done.await();
            System.out.println("done");
        }
        over = true;
        for (int i = 0; i < THREADS; i++) {
            hops[i].turn.release();
            threads[i].join();
        }
    }
}
