import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits as often as it is told: `fast` has two threads wake each other as fast as they can, `fast virtual` two virtual
 * ones, `slow` ends that; `nap N`
 * has the thread "napper" sleep N times for 5 ms, and answers how many nanoseconds that took, less its CPU time.
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

    public static void main(String[] args) throws InterruptedException, ReflectiveOperationException {
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
