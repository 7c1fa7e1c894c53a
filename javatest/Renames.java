/*
 * Threads that change their name in the middle: one by itself, one is renamed by main while it waits,
 * one is called like a thread that is over. Each keeps the row and the name that it started with.
 *
 * Expected:
 *   thread main
 *     1 Renames.<clinit>
 *     1 Renames.main
 *       1 Renames$Self.<init>
 *       1 Renames$Other.<init>
 *       1 Renames$Again.<init>
 *       1 Renames.after
 *   thread self from main
 *     1 Renames$Self.run
 *       2 Renames.before
 *       3 Renames.after
 *   renamed self "self, later"
 *   thread other from main
 *     1 Renames$Other.run
 *       5 Renames.before
 *       7 Renames.after
 *   renamed other "other, later"
 *   thread self from main
 *     1 Renames$Again.run
 *       11 Renames.after
 *   renamed main "main, later"
 */
import java.util.concurrent.CountDownLatch;

public class Renames {
    static final CountDownLatch half = new CountDownLatch(1);
    static final CountDownLatch renamed = new CountDownLatch(1);

    static void before() {
    }

    static void after() {
    }

    static class Self extends Thread {
        Self() {
            super("self");
        }

        @Override
        public void run() {
            for (int i = 0; i < 2; i++) {
                before();
            }
            setName("self, later");
            for (int i = 0; i < 3; i++) {
                after();
            }
        }
    }

    static class Other extends Thread {
        Other() {
            super("other");
        }

        @Override
        public void run() {
            for (int i = 0; i < 5; i++) {
                before();
            }
            half.countDown();
            try {
                renamed.await();
            } catch (InterruptedException e) {
                return;
            }
            for (int i = 0; i < 7; i++) {
                after();
            }
        }
    }

    static class Again extends Thread {
        Again() {
            super("self");
        }

        @Override
        public void run() {
            for (int i = 0; i < 11; i++) {
                after();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread self = new Self();
        self.start();
        self.join();

        Thread other = new Other();
        other.start();
        half.await();
        other.setName("other, later");
        renamed.countDown();
        other.join();

        Thread again = new Again();
        again.start();
        again.join();
        Thread.currentThread().setName("main, later");
        after();
        System.out.println(self.getName() + "; " + other.getName() + "; " + again.getName());
    }
}
