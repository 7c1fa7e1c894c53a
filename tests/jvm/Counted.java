import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that call methods at rates of their own for as long as they are told to: `run MS` runs for so many
 * milliseconds, and answers how often each method was called until now. The threads count for themselves, so that
 * nothing is shared but the methods. Before the first run a burst of calls silences all but the last.
 */
public class Counted {
    private static final int THREADS = 4;
    private static final int ROUND_MS = 20;
    private static final int BURST = 100;
    private static final String[] NAMES = {"rare", "often", "thrown", "hot"};
    private static final int[] CALLS = {1, 4, 3, 20_000}; // a round
    private static final AtomicLong[] made = {new AtomicLong(), new AtomicLong(), new AtomicLong(), new AtomicLong()};
    private static volatile int sink;

    private static int sum(int from, int steps) {
        int sum = from;
        for (int i = 0; i < steps; i++) sum += i ^ sum;
        return sum;
    }

    static int rare(int x) {
        return sum(x, 40);
    }

    static int often(int x) {
        return sum(x, 20);
    }

    static int thrown(int x) {
        if (sum(x, 30) != -1) throw new IllegalStateException();
        return x;
    }

    static int hot(int x) {
        return sum(x, 3);
    }

    private static void call(int which, int x) {
        switch (which) {
            case 0 -> sink = rare(x);
            case 1 -> sink = often(x);
            case 2 -> {
                try {
                    sink = thrown(x);
                } catch (IllegalStateException expected) {
                    sink = x;
                }
            }
            default -> sink = hot(x);
        }
    }

    private static void go(long until) {
        long[] calls = new long[NAMES.length];
        do {
            for (int which = 0; which < NAMES.length; which++) {
                for (int i = 0; i < CALLS[which]; i++) call(which, i);
                calls[which] += CALLS[which];
            }
            try {
                Thread.sleep(ROUND_MS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        } while (System.nanoTime() < until);
        for (int which = 0; which < NAMES.length; which++) made[which].addAndGet(calls[which]);
    }

    /** So few that none is turned off for it. */
    private static void burst() {
        for (int which = 0; which < NAMES.length - 1; which++) {
            for (int i = 0; i < BURST; i++) call(which, i);
            made[which].addAndGet(BURST);
        }
    }

    private static String run(int ms) throws InterruptedException {
        long until = System.nanoTime() + ms * 1_000_000L;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> go(until), "caller-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        StringBuilder answer = new StringBuilder();
        for (int which = 0; which < NAMES.length; which++)
            answer.append(NAMES[which]).append('=').append(made[which]).append(' ');
        return answer.toString().trim();
    }

    public static void main(String[] arguments) throws InterruptedException {
        burst();
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext(); ) {
            in.next();
            System.out.println(run(in.nextInt()));
        }
    }
}
