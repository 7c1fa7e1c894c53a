/*
 * Runtime.halt by a thread that is not main, while others are deep in calls: waiting or running. No
 * shutdown hook runs.
 *
 * Expected:
 *   exit 4
 *   thread main
 *     1 HaltInTheMiddle.<clinit>
 *     1 HaltInTheMiddle.main
 *       1 HaltInTheMiddle$Hook.<init>
 *       4 HaltInTheMiddle$Deep.<init>
 *       1 HaltInTheMiddle$Exits.<init>
 *       1 HaltInTheMiddle.forever
 *   thread waits-{0..1} from main
 *     1 HaltInTheMiddle$Deep.run
 *       1 HaltInTheMiddle$Deep.down * 51
 *         1 HaltInTheMiddle.forever
 *   thread runs-{0..1} from main
 *     1 HaltInTheMiddle$Deep.run
 *       1 HaltInTheMiddle$Deep.down * 51
 *         1 HaltInTheMiddle$Deep.spin
 *   thread exits from main
 *     1 HaltInTheMiddle$Exits.run
 *       1 HaltInTheMiddle$Exits.leave
 */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

public class HaltInTheMiddle {
    static final CountDownLatch deep = new CountDownLatch(5);
    static volatile long spun;

    static void forever() {
        deep.countDown();
        while (true) {
            LockSupport.park();
        }
    }

    static class Deep extends Thread {
        final boolean spins;

        Deep(String name, boolean spins) {
            super(name);
            this.spins = spins;
        }

        void down(int n) {
            if (n > 0) {
                down(n - 1);
                return;
            }
            if (spins) {
                spin();
            } else {
                forever();
            }
        }

        void spin() {
            deep.countDown();
            while (true) {
                spun++;
            }
        }

        @Override
        public void run() {
            down(50);
        }
    }

    static class Exits extends Thread {
        Exits() {
            super("exits");
        }

        void leave() {
            Runtime.getRuntime().halt(4);
        }

        @Override
        public void run() {
            try {
                deep.await();
            } catch (InterruptedException e) {
                return;
            }
            leave();
        }
    }

    static class Hook extends Thread {
        Hook() {
            super("hook");
        }

        @Override
        public void run() {
            System.out.println("never");
        }
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Hook());
        for (int i = 0; i < 2; i++) {
            new Deep("waits-" + i, false).start();
            new Deep("runs-" + i, true).start();
        }
        new Exits().start();
        forever();
    }
}
