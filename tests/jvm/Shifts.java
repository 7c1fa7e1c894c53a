import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * Four threads that go from phase to phase and note when: `phase nanoTime CPU`, at each switch and every half a
 * millisecond or so in between. A phase is a path of methods. `burn N` answers when each thread has used N ms more of
 * CPU time; `end FILE` ends them and writes what they noted.
 */
public class Shifts {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final long TURN_NS = 500_000;
    static final int NOTES = 200_000;
    static final int DEPTH = 5;

    static volatile boolean over;
    static volatile long sink;

    /** What a thread noted; its own to write. */
    static class Diary {
        final String name;
        final String[] phases = new String[NOTES];
        final long[] times = new long[NOTES];
        final long[] cpu = new long[NOTES];
        volatile int count;
        volatile long used;
        int rounds = 1000;

        Diary(String name) {
            this.name = name;
        }

        void note(String phase) {
            int at = count;
            if (at == NOTES) {
                over = true;
                return;
            }
            phases[at] = phase;
            cpu[at] = CLOCK.getCurrentThreadCpuTime();
            times[at] = System.nanoTime();
            used = cpu[at];
            count = at + 1;
        }

        void write(PrintWriter out) {
            for (int i = 0; i < count; i++) {
                out.println(name + " " + phases[i] + " " + times[i] + " " + cpu[i]);
            }
        }
    }

    static void spin(int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i ^ sum << 1;
        }
        sink = sum;
    }

    /** Has hooks: a call from the phase itself. */
    static void turn(int rounds) {
        spin(rounds);
    }

    /** The phase of whoever calls it, for so long of CPU time; with calls that are heard, or without. */
    static void stay(Diary me, String phase, int millis, boolean loud) {
        me.note(phase);
        long begin = me.used;
        while (!over && me.used - begin < millis * 1_000_000L) {
            long before = me.used;
            if (loud) {
                turn(me.rounds);
            } else {
                spin(me.rounds);
            }
            me.note(phase);
            me.rounds = me.used - before < TURN_NS ? me.rounds + me.rounds / 4 : me.rounds - me.rounds / 4;
        }
    }

    // ---- one after the other ----

    static void one(Diary me) {
        stay(me, "one", 110, true);
    }

    static void two(Diary me) {
        stay(me, "two", 70, true);
    }

    static void three(Diary me) {
        stay(me, "three", 190, false);
    }

    static void flat(Diary me) {
        one(me);
        two(me);
        three(me);
    }

    // ---- deep, and back level by level ----

    static void down(Diary me, String path, int level) {
        if (level < DEPTH) {
            down(me, path + "/down", level + 1);
        }
        stay(me, path, 20 + 25 * level, level % 2 == 0);
    }

    static void deep(Diary me) {
        down(me, "down", 1);
    }

    // ---- there and back without a word: who was called while nobody listened is left so, too ----

    static void inner(Diary me) {
        stay(me, "outer/inner", 130, false);
    }

    static void outer(Diary me) {
        stay(me, "outer", 90, false);
        inner(me);
        stay(me, "outer", 60, false);
    }

    // ---- constructors and exceptions ----

    static class Made {
        Made(Diary me) {
            stay(me, "<init>", 100, true);
        }
    }

    static void thrower(Diary me) {
        stay(me, "caught/thrower", 140, false);
        throw new IllegalStateException();
    }

    static void caught(Diary me) {
        try {
            thrower(me);
        } catch (IllegalStateException e) {
            stay(me, "caught", 80, false);
        }
    }

    static void mixed(Diary me) {
        sink = new Made(me).hashCode();
        caught(me);
    }

    /** A thread's work, again and again. */
    interface Shift {
        void work(Diary me);
    }

    static final List<Diary> DIARIES = new ArrayList<>();
    static final List<Thread> THREADS = new ArrayList<>();

    static void add(String name, Shift shift) {
        Diary me = new Diary(name);
        Thread thread = new Thread(() -> {
            while (!over) {
                shift.work(me);
            }
        }, name);
        DIARIES.add(me);
        THREADS.add(thread);
        thread.start();
    }

    static void burn(long millis) throws InterruptedException {
        long[] before = new long[DIARIES.size()];
        for (int i = 0; i < before.length; i++) {
            before[i] = DIARIES.get(i).used;
        }
        for (int i = 0; i < before.length; i++) {
            while (!over && DIARIES.get(i).used - before[i] < millis * 1_000_000) {
                Thread.sleep(2);
            }
        }
    }

    static void end(String file) throws IOException, InterruptedException {
        over = true;
        for (Thread thread : THREADS) {
            thread.join();
        }
        try (PrintWriter out = new PrintWriter(file)) {
            for (Diary diary : DIARIES) {
                diary.write(out);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        add("flat", Shifts::flat);
        add("deep", Shifts::deep);
        add("quiet", Shifts::outer);
        add("mixed", Shifts::mixed);
        burn(1);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            if (in.next().equals("burn")) {
                burn(in.nextLong());
                System.out.println("burnt");
            } else {
                end(in.next());
                System.out.println("written");
            }
        }
    }
}
