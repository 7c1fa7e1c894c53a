/*
 * Runs already when the agent comes: three threads stand deep in calls and wait, one works all the time.
 * Standard input says what to do; what the test makes it do (scenario_attach.py) is what is expected here.
 * Frames that were on the stacks when the agent came have nodes without calls: what they call stands below them.
 *
 * Expected:
 *   include Attached.*;Attached$Busy.*
 *   skip Attached$Busy.churn
 *   thread deep-{0..1}
 *     1 Attached.down * 30
 *       7000 Attached.round
 *         70000 Attached.leaf
 *         7000 Attached.catches
 *           7000 Attached.passes
 *             7000 Attached.throwing
 *         7000 Attached.recursion
 *           7000 Attached.recursion
 *             7000 Attached.recursion
 *   thread early-2
 *     1 Attached.down * 30
 *       7000 Attached.round
 *         70000 Attached.leaf
 *         7000 Attached.catches
 *           7000 Attached.passes
 *             7000 Attached.throwing
 *         7000 Attached.recursion
 *           7000 Attached.recursion
 *             7000 Attached.recursion
 *   thread late-1 from deep-1
 *     3 Attached.round
 *       30 Attached.leaf
 *       3 Attached.catches
 *         3 Attached.passes
 *           3 Attached.throwing
 *       3 Attached.recursion
 *         3 Attached.recursion
 *           3 Attached.recursion
 *   thread late from main
 *     3 Attached.round
 *       30 Attached.leaf
 *       3 Attached.catches
 *         3 Attached.passes
 *           3 Attached.throwing
 *       3 Attached.recursion
 *         3 Attached.recursion
 *           3 Attached.recursion
 *   thread main
 *     0 Attached.main
 *   thread Thread-0
 *     0 Attached$Busy.run
 *   renamed deep-0 renamed-0
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CyclicBarrier;

public class Attached {
    static final int DEPTH = 30;

    static long leaf(long n) {
        return n * n % 7;
    }

    static long throwing(long n) {
        throw new IllegalStateException(String.valueOf(n));
    }

    static long passes(long n) {
        return throwing(n) + 1;
    }

    static long catches(long n) {
        try {
            return passes(n);
        } catch (IllegalStateException e) {
            return e.getMessage().length();
        }
    }

    static long recursion(int depth) {
        return depth == 0 ? 1 : 1 + recursion(depth - 1);
    }

    static long round(long n) {
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += leaf(n + i);
        }
        return sum + catches(n) + recursion(2);
    }

    static void down(int level, Runnable work) {
        if (level == 1) {
            work.run();
        } else {
            down(level - 1, work);
        }
    }

    /** Does what it is told, at the bottom of its calls; `up` makes it return and go down anew. */
    static class Worker extends Thread {
        final CyclicBarrier barrier = new CyclicBarrier(2);
        long sum;
        int rounds;
        String spawned;
        boolean over;

        Worker(String name) {
            super(name);
        }

        void tell(int rounds, String spawned) throws Exception {
            this.rounds = rounds;
            this.spawned = spawned;
            barrier.await();
            barrier.await();
        }

        static long sum(List<Worker> workers) {
            long sum = 0;
            for (Worker worker : workers) {
                sum += worker.sum;
            }
            return sum;
        }

        void work() {
            try {
                while (true) {
                    barrier.await();
                    if (rounds < 0) {
                        return;
                    }
                    sum += rounds(rounds);
                    if (spawned != null) {
                        sum += spawn(spawned);
                    }
                    barrier.await();
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        static long rounds(int count) {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += round(i);
            }
            return sum;
        }

        static long spawn(String name) throws InterruptedException {
            long[] sum = {0};
            Thread thread = new Thread(() -> sum[0] = rounds(3), name);
            thread.start();
            thread.join();
            return sum[0];
        }

        @Override
        public void run() {
            down(DEPTH, this::work);
            if (over) {
                return;
            }
            try {
                barrier.await();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            down(DEPTH, this::work);
        }
    }

    /** Works all the time, with calls of its own, and knows the result that it must get. */
    static class Busy extends Thread {
        volatile boolean over;
        long wrong;

        static long churn(int depth) {
            if (depth == 0) {
                throw new IllegalStateException();
            }
            try {
                return 1 + churn(depth - 1);
            } catch (IllegalStateException e) {
                return 1;
            }
        }

        @Override
        public void run() {
            while (!over) {
                wrong += churn(20) == 20 ? 0 : 1;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            workers.add(new Worker("deep-" + i));
            workers.get(i).start();
        }
        Busy busy = new Busy();
        busy.start();
        workers.get(2).setName("early-2");
        for (Worker worker : workers) {
            worker.tell(100, null);
        }
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            String command = in.next();
            switch (command) {
                case "rounds":
                    int rounds = in.nextInt();
                    for (Worker worker : workers) {
                        worker.tell(rounds, null);
                    }
                    break;
                case "spawn":
                    workers.get(1).tell(0, "late-1");
                    Worker.spawn("late");
                    break;
                case "rename":
                    workers.get(0).setName("renamed-0");
                    break;
                case "up":
                    for (Worker worker : workers) {
                        worker.tell(-1, null);
                    }
                    break;
                default:
                    throw new IllegalArgumentException(command);
            }
            System.out.println(command + " " + Worker.sum(workers));
        }
        for (Worker worker : workers) {
            worker.rounds = -1;
            worker.over = true;
            worker.barrier.await();
            worker.join();
        }
        busy.over = true;
        busy.join();
        System.out.println("wrong: " + busy.wrong);
    }
}
