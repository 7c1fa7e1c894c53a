import java.lang.management.ManagementFactory;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * A loop that lasts, in a class beside another class. At first both call a method of their own a hundred thousand
 * times. `slow N` calls the other class's method N times, twenty times a second; the answer is `done`. `cpu` answers
 * the CPU time in ns of the thread that the loop is in; `over` ends the loop and the thread.
 */
public class LastingLoop {
    static volatile long result;
    static volatile boolean over;

    static class Loop implements Runnable {
        static long sum;

        static void visit() {
            result++;
        }

        /* A quarter of the time it computes, in machine code that was entered in the loop. */
        @Override
        public void run() {
            for (int i = 0; i < 100_000; i++) {
                visit();
            }
            while (!over) {
                for (int i = 0; i < 1_000_000; i++) {
                    sum += i ^ sum << 1;
                }
                LockSupport.parkNanos(3_000_000);
            }
        }
    }

    static class Other {
        static void visit() {
            result++;
        }

        static void burst() {
            for (int i = 0; i < 100_000; i++) {
                visit();
            }
        }
    }

    static void slow(int calls) throws InterruptedException {
        for (int i = 0; i < calls; i++) {
            Other.visit();
            Thread.sleep(50);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread loop = new Thread(new Loop(), "loop");
        loop.setDaemon(true);
        loop.start();
        Other.burst();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            switch (in.next()) {
                case "slow":
                    slow(in.nextInt());
                    System.out.println("done");
                    break;
                case "cpu":
                    System.out.println(ManagementFactory.getThreadMXBean().getThreadCpuTime(loop.getId()));
                    break;
                default:
                    over = true;
                    loop.join();
                    System.out.println("over");
            }
        }
    }
}
