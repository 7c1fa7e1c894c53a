import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that each stand somewhere when profiling is stopped, and somewhere else when it is started again. They go
 * on when they are told the next step: `step` says so, and answers when all have arrived; `burn N` answers when each
 * has gone N rounds where it is.
 */
public class Phases {
    static volatile int step;
    static volatile long sink;
    static final Map<String, Subject> SUBJECTS = new LinkedHashMap<>();
    static final List<Thread> THREADS = new ArrayList<>();

    /** What a thread does, from one step to the next. */
    interface Story {
        void run(Subject subject);
    }

    static class Subject {
        final AtomicInteger arrived = new AtomicInteger(-1);
        volatile long burnt;
    }

    static void turn(int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i ^ sum << 1;
        }
        sink = sum;
    }

    static void burnHere(Subject me, int until) {
        me.arrived.set(until);
        for (long n = 0; step < until; n++) {
            turn(20_000);
            me.burnt++;
        }
    }

    static void waitHere(Subject me, int until) {
        me.arrived.set(until);
        while (step < until) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    // ---- stories: step 0 before the stop, step 1 from the stop on, step 2 some time after the start ----

    static void phase1(Subject me) {
        waitHere(me, 1);
    }

    static void other(Subject me) {
        burnHere(me, 2);
    }

    static void more(Subject me) {
        burnHere(me, 3);
    }

    static void returned(Subject me) {
        phase1(me);
        other(me);
        more(me);
    }

    static void stays(Subject me) {
        burnHere(me, 2);
        more(me);
    }

    static void recursive(Subject me, int depth) {
        if (depth > 0) {
            recursive(me, depth - 1);
        } else {
            waitHere(me, 1);
        }
        if (depth == 1) {
            other(me);
        }
        if (depth == 6) {
            more(me);
        }
    }

    static class Made {
        Made(Subject me) {
            waitHere(me, 1);
            burnHere(me, 2);
        }
    }

    static void constructor(Subject me) {
        new Made(me);
        more(me);
    }

    static void thrower(Subject me) {
        waitHere(me, 1);
        throw new IllegalStateException();
    }

    static void caught(Subject me) {
        try {
            thrower(me);
        } catch (IllegalStateException e) {
            burnHere(me, 2);
        }
        more(me);
    }

    static void inCatch(Subject me) {
        try {
            throw new IllegalStateException();
        } catch (IllegalStateException e) {
            phase1(me);
            burnHere(me, 2);
        }
        more(me);
    }

    /** Entered while profiling is stopped, left without a word after the start. */
    static void entered(Subject me) {
        burnHere(me, 2);
    }

    static void silent(Subject me) {
        waitHere(me, 1);
        entered(me);
        burnHere(me, 3);
    }

    static void parked(Subject me) {
        me.arrived.set(1);
        while (step < 1) {
            LockSupport.park();
        }
        other(me);
        more(me);
    }

    static void add(String name, boolean virtual, Story story) throws Exception {
        Subject me = new Subject();
        SUBJECTS.put(name, me);
        Runnable run = () -> story.run(me);
        Thread thread = new Thread(run, name);
        if (virtual) {
            thread = virtual(name, run);
        } else {
            thread.setDaemon(true);
        }
        THREADS.add(thread);
        thread.start();
    }

    /** This is compiled for JDK 17. */
    static Thread virtual(String name, Runnable run) throws ReflectiveOperationException {
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Object made = Thread.class.getMethod("ofVirtual").invoke(null);
        builder.getMethod("name", String.class).invoke(made, name);
        return (Thread) builder.getMethod("unstarted", Runnable.class).invoke(made, run);
    }

    static void addAll(String prefix, boolean virtual) throws Exception {
        add(prefix + "returned", virtual, Phases::returned);
        add(prefix + "stays", virtual, Phases::stays);
        add(prefix + "recursive", virtual, me -> recursive(me, 7));
        add(prefix + "constructor", virtual, Phases::constructor);
        add(prefix + "caught", virtual, Phases::caught);
        add(prefix + "inCatch", virtual, Phases::inCatch);
        add(prefix + "silent", virtual, Phases::silent);
        add(prefix + "parked", virtual, Phases::parked);
    }

    static void reach(int wanted) throws InterruptedException {
        for (Subject subject : SUBJECTS.values()) {
            while (subject.arrived.get() < wanted) {
                Thread.sleep(1);
            }
        }
    }

    /** Answers when each has burnt so many rounds from here on. */
    static void burn(long rounds) throws InterruptedException {
        Map<Subject, Long> before = new LinkedHashMap<>();
        SUBJECTS.values().forEach(subject -> before.put(subject, subject.burnt));
        for (Subject subject : SUBJECTS.values()) {
            while (subject.burnt - before.get(subject) < rounds) {
                Thread.sleep(5);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        addAll("", false);
        if (args.length > 0) {
            addAll("v-", true);
        }
        reach(1);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            if (in.next().equals("step")) {
                step++;
                for (Thread thread : THREADS) {
                    LockSupport.unpark(thread);
                }
                reach(step + 1);
                System.out.println("step " + step);
            } else {
                burn(in.nextLong());
                System.out.println("burnt");
            }
        }
        System.exit(0); // the threads are still where they are
    }
}
