import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * So many threads, named spinner-1 and so on, which burn at once: `burn MS` has each of them use so much CPU time, by its
 * own clock, in calls of `spin`, `forever` until `rest`. They live until standard input ends.
 */
public class Spinners {
    static final ThreadMXBean TIMES = ManagementFactory.getThreadMXBean();

    static volatile long sink;
    static volatile boolean rests;

    static class Spinner extends Thread {
        private long left;
        private boolean asked;

        Spinner(int number) {
            super("spinner-" + number);
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    burn(next());
                    finish();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private synchronized long next() throws InterruptedException {
            while (!asked) {
                wait();
            }
            return left;
        }

        synchronized void ask(long ns) {
            left = ns;
            asked = true;
            notifyAll();
        }

        private synchronized void finish() {
            asked = false;
            notifyAll();
        }

        synchronized void await() throws InterruptedException {
            while (asked) {
                wait();
            }
        }
    }

    static void spin() {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += i ^ sum << 1;
        }
        sink = sum;
    }

    static void burn(long ns) {
        long until = TIMES.getCurrentThreadCpuTime() + ns;
        while (!rests && TIMES.getCurrentThreadCpuTime() < until) {
            spin();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Spinner> spinners = new ArrayList<>();
        for (int i = 1; i <= Integer.parseInt(args[0]); i++) {
            spinners.add(new Spinner(i));
        }
        spinners.forEach(Thread::start);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            String order = in.next();
            if (order.equals("burn")) {
                long ns = in.nextLong() * 1_000_000;
                spinners.forEach(spinner -> spinner.ask(ns));
            } else if (order.equals("forever")) {
                rests = false;
                spinners.forEach(spinner -> spinner.ask(Long.MAX_VALUE / 2));
            } else {
                rests = true;
            }
            for (Spinner spinner : spinners) {
                if (!order.equals("forever")) {
                    spinner.await();
                }
            }
            System.out.println("done");
        }
    }
}
