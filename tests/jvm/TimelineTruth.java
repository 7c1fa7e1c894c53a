import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that wait, call and switch, and say when, on System.nanoTime, which is CLOCK_MONOTONIC here.
 *
 * round: one answer of rows `thread what begin end`, separated by "; ": what must lie within these times.
 * turns N: two threads hand over N times; `thread begin end switches` of each, by the kernel's own count.
 */
public class TimelineTruth {
    static final int MS = 60;
    static final Object MONITOR = new Object(), EMPTY = new Object();
    static final List<String> ROWS = new ArrayList<>();
    static volatile Thread ping, pong;
    static volatile boolean turn, over;

    interface Work {
        void run() throws Exception;
    }

    static void tell(String what, long begin, long end) {
        synchronized (ROWS) {
            ROWS.add(Thread.currentThread().getName() + " " + what + " " + begin + " " + end);
        }
    }

    static void timed(String what, Work work) throws Exception {
        long begin = System.nanoTime();
        work.run();
        tell(what, begin, System.nanoTime());
    }

    static Thread start(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.start();
        return thread;
    }

    static void longCall() {
        long until = System.nanoTime() + MS * 1_000_000L;
        while (System.nanoTime() < until)
            Thread.onSpinWait();
    }

    /** A thread that holds the monitor until the other one waits for it, and then for some time. */
    static void contend(int number, List<Thread> threads) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        Thread[] waiter = new Thread[1];
        threads.add(start("holder-" + number, () -> {
            synchronized (MONITOR) {
                held.countDown();
                while (waiter[0] == null || waiter[0].getState() != Thread.State.BLOCKED)
                    Thread.sleep(1);
                Thread.sleep(MS);
            }
        }));
        held.await();
        waiter[0] = start("blocked-" + number, () -> timed("monitor", () -> {
            synchronized (MONITOR) {
                return;
            }
        }));
        threads.add(waiter[0]);
    }

    static String round(int number) throws Exception {
        List<Thread> threads = new ArrayList<>();
        ROWS.clear();
        threads.add(start("sleeper-" + number, () -> timed("sleep", () -> Thread.sleep(MS))));
        threads.add(start("parker-" + number, () -> timed("park", () -> {
            long until = System.nanoTime() + MS * 1_000_000L;
            while (System.nanoTime() < until)
                LockSupport.parkNanos(until - System.nanoTime());
        })));
        threads.add(start("waiter-" + number, () -> timed("object", () -> {
            synchronized (EMPTY) {
                EMPTY.wait(MS);
            }
        })));
        threads.add(start("caller-" + number, () -> timed("call", TimelineTruth::longCall)));
        contend(number, threads);
        for (Thread thread : threads)
            thread.join();
        timed("gc", System::gc);
        return String.join("; ", ROWS);
    }

    static long switches() throws IOException {
        long sum = 0;
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status")))
            if (line.contains("ctxt_switches"))
                sum += Long.parseLong(line.replaceAll("\\D+", ""));
        return sum;
    }

    static void play(boolean mine, long turns, CountDownLatch both) throws Exception {
        both.countDown();
        both.await();
        long before = switches(), begin = System.nanoTime();
        for (long i = 0; i < turns && !over; i++) {
            while (turn != mine && !over)
                LockSupport.park();
            turn = !mine;
            LockSupport.unpark(mine ? pong : ping);
        }
        over = true;
        LockSupport.unpark(mine ? pong : ping);
        long end = System.nanoTime();
        tell(Long.toString(switches() - before), begin, end);
    }

    static String turns(long turns) throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        ROWS.clear();
        over = false;
        turn = true;
        CountDownLatch known = new CountDownLatch(1);
        switches(); // so that the JDK's code for it is loaded
        ping = start("ping", () -> {
            known.await();
            play(true, turns, both);
        });
        pong = start("pong", () -> {
            known.await();
            play(false, turns, both);
        });
        known.countDown();
        ping.join();
        pong.join();
        return String.join("; ", ROWS);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        int rounds = 0;
        System.out.println("ready");
        for (String order = orders.readLine(); order != null; order = orders.readLine())
            System.out.println(order.equals("round") ? round(++rounds) : turns(Long.parseLong(order.split(" ")[1])));
    }
}
