import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Two threads that take turns N times: by park and unpark (`park`), by Object.wait and notifyAll (`notify`), or as a
 * monitor lets them (`monitor`); or one thread that enters a monitor and a lock N times that nobody else wants (`alone`).
 * Prints the process's CPU time and the wall time a turn, in ns, of the second of two rounds.
 */
public class WaitCost {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Thread[] PLAYERS = new Thread[2];
    static volatile int turn;
    static long sink;

    static void park(int me, int turns) {
        for (int i = 0; i < turns; i++) {
            while (turn != me) {
                LockSupport.park();
            }
            turn = 1 - me;
            LockSupport.unpark(PLAYERS[1 - me]);
        }
    }

    static void notifies(int me, int turns) {
        try {
            for (int i = 0; i < turns; i++) {
                synchronized (MONITOR) {
                    while (turn != me) {
                        MONITOR.wait();
                    }
                    turn = 1 - me;
                    MONITOR.notifyAll();
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void monitor(int turns) {
        for (int i = 0; i < turns; i++) {
            synchronized (MONITOR) {
                for (int j = 0; j < 300; j++) {
                    sink += j;
                }
            }
        }
    }

    static void alone(int turns) {
        for (int i = 0; i < turns; i++) {
            synchronized (MONITOR) {
                sink++;
            }
            LOCK.lock();
            try {
                sink++;
            } finally {
                LOCK.unlock();
            }
        }
    }

    static void play(String kind, int me, int turns) {
        switch (kind) {
            case "park" -> park(me, turns);
            case "notify" -> notifies(me, turns);
            case "monitor" -> monitor(turns);
            default -> alone(turns);
        }
    }

    static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static String round(String kind, int turns) throws InterruptedException {
        int players = kind.equals("alone") ? 1 : PLAYERS.length;
        turn = 0;
        for (int i = 0; i < players; i++) {
            int me = i;
            PLAYERS[i] = new Thread(() -> play(kind, me, turns));
        }
        long cpu = cpuNs();
        long wall = System.nanoTime();
        for (int i = 0; i < players; i++) {
            PLAYERS[i].start();
        }
        for (int i = 0; i < players; i++) {
            PLAYERS[i].join();
        }
        wall = System.nanoTime() - wall;
        return (double) (cpuNs() - cpu) / turns + " " + (double) wall / turns;
    }

    public static void main(String[] args) throws InterruptedException {
        int turns = Integer.parseInt(args[1]);
        round(args[0], turns);
        System.out.println(round(args[0], turns));
    }
}
