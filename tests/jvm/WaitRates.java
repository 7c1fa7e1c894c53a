import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits as often as it is told: `fast` has two threads wake each other as fast as they can, `fast virtual` two virtual
 * ones, `slow` ends that; `nap N`
 * has the thread "napper" sleep N times for 5 ms, and answers how many nanoseconds that took, less its CPU time;
 * `locks N` has a thread wait N times for a monitor and N times for a ReentrantLock, some 20 ms each.
 */
public class WaitRates {
    static volatile boolean fast;
    static volatile int turn;
    static volatile int naps;
    static volatile long napped;

    static void play(int me, Thread[] players) {
        while (fast) {
            if (turn == me) {
                turn = 1 - me;
                LockSupport.unpark(players[1 - me]);
            } else {
                LockSupport.park();
            }
        }
    }

    static Thread newThread(boolean isVirtual, String name, Runnable run) throws ReflectiveOperationException {
        if (!isVirtual) {
            return new Thread(run, name);
        }
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, run);
    }

    static Thread[] begin(boolean isVirtual) throws ReflectiveOperationException {
        fast = true;
        Thread[] players = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int me = i;
            players[i] = newThread(isVirtual, "player-" + i, () -> play(me, players));
        }
        for (Thread player : players) {
            player.start();
        }
        return players;
    }

    static void end(Thread[] players) throws InterruptedException {
        fast = false;
        for (Thread player : players) {
            LockSupport.unpark(player);
            player.join();
        }
    }

    static void nap() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try {
            while (true) {
                while (naps == 0) {
                    Thread.onSpinWait();
                }
                long took = 0;
                long ran = threads.getCurrentThreadCpuTime();
                for (; naps > 0; naps--) {
                    long began = System.nanoTime();
                    Thread.sleep(5);
                    took += System.nanoTime() - began;
                }
                napped = took - (threads.getCurrentThreadCpuTime() - ran);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile int held;

    static void hold(int times) throws InterruptedException {
        for (int i = 0; i < times; i++) {
            LOCK.lock();
            synchronized (MONITOR) {
                held = 1;
                Thread.sleep(20);
            }
            Thread.sleep(20);
            LOCK.unlock();
            while (held > 0) {
                Thread.sleep(1);
            }
        }
    }

    static void waitForBoth(int times) throws InterruptedException {
        for (int i = 0; i < times; i++) {
            while (held == 0) {
                Thread.sleep(1);
            }
            synchronized (MONITOR) {
                LOCK.lock();
            }
            LOCK.unlock();
            held = 0;
        }
    }

    static void contend(int times) throws Exception {
        Thread owner = Starts.start("owner", false, () -> hold(times));
        Starts.start("blocked", false, () -> waitForBoth(times)).join();
        owner.join();
    }

    public static void main(String[] args) throws Exception {
        Thread napper = new Thread(WaitRates::nap, "napper");
        napper.setDaemon(true);
        napper.start();
        Thread[] players = null;
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            switch (words[0]) {
                case "fast" -> {
                    players = begin(words.length > 1);
                    System.out.println("fast");
                }
                case "slow" -> {
                    end(players);
                    System.out.println("slow");
                }
                case "locks" -> {
                    contend(Integer.parseInt(words[1]));
                    System.out.println("locked");
                }
                default -> {
                    napped = 0;
                    naps = Integer.parseInt(words[1]);
                    while (napped == 0) {
                        Thread.onSpinWait();
                    }
                    System.out.println(napped);
                }
            }
        }
    }
}
