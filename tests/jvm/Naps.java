import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * A virtual thread that naps in `outer`, calls `inner` at the first `step`, naps there, and returns at the second. What
 * `burn` makes it use it uses where it is, between two naps and without a call that is heard. Each order is answered.
 */
public class Naps {
    static final int ROUNDS = 3000; // of some 10 µs each

    static volatile int step;
    static volatile int at; // the step that the nap it is in waits for
    static volatile int orders;
    static volatile int done;
    static volatile long sink;

    static void spin() {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += i ^ sum << 1;
        }
        sink = sum;
    }

    static void nap(int until) {
        at = until;
        while (step < until) {
            LockSupport.parkNanos(500_000);
            if (done < orders) {
                for (int i = 0; i < ROUNDS; i++) {
                    spin();
                }
                done++; // by this thread alone
            }
        }
        done = orders;
    }

    static void inner() {
        nap(2);
    }

    static void outer() {
        nap(1);
        inner();
        nap(3);
    }

    static void untilItNaps() throws InterruptedException {
        while (at != step + 1) {
            Thread.sleep(1);
        }
        Thread.sleep(50);
    }

    public static void main(String[] args) throws Exception {
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Naps::outer);
        untilItNaps();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            String order = in.next();
            if (order.equals("step")) {
                step++;
                untilItNaps();
            } else {
                orders++;
                while (done < orders) {
                    Thread.sleep(1);
                }
            }
            System.out.println(order);
        }
    }
}
