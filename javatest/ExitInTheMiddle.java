/*
 * System.exit by a thread that is not main, while others are deep in calls: waiting or
 * running. A shutdown hook still runs.
 *
 * Expected:
 *   exit 3
 *   thread main
 *     1 ExitInTheMiddle.<clinit>
 *     1 ExitInTheMiddle.main
 *       1 ExitInTheMiddle$Hook.<init>
 *       4 ExitInTheMiddle$Deep.<init>
 *       1 ExitInTheMiddle$Exits.<init>
 *       1 ExitInTheMiddle.forever
 *   thread waits-{0..1} from main
 *     1 ExitInTheMiddle$Deep.run
 *       1 ExitInTheMiddle$Deep.down * 51
 *         1 ExitInTheMiddle.forever
 *   thread runs-{0..1} from main
 *     1 ExitInTheMiddle$Deep.run
 *       1 ExitInTheMiddle$Deep.down * 51
 *         1 ExitInTheMiddle$Deep.spin
 *   thread exits from main
 *     1 ExitInTheMiddle$Exits.run
 *       1 ExitInTheMiddle$Exits.leave
 *   thread hook from exits
 *     1 ExitInTheMiddle$Hook.run
 *       9 ExitInTheMiddle.step
 */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

public class ExitInTheMiddle {
    static final CountDownLatch deep = new CountDownLatch(5);
    static volatile long spun;

    static void forever() {
        deep.countDown();
        while (true) {
            LockSupport.park();
        }
    }

    static void step() {
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
            System.exit(3);
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
            for (int i = 0; i < 9; i++) {
                step();
            }
            System.out.println("hook ran");
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
