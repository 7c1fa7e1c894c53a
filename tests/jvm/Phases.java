import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

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
        void run(Subject subject) throws Exception;
    }

    static class Subject {
        final AtomicInteger arrived = new AtomicInteger(-1);
        volatile long burnt;
        volatile Pipe pipe; // from step 1 on there is a byte in it
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

    /** Interpreted, its frame is as large as the one of entered(). */
    static void like(Subject me) {
        burnHere(me, 3);
    }

    static void alike(Subject me) {
        waitHere(me, 1);
        entered(me);
        like(me);
    }

    static void parked(Subject me) {
        me.arrived.set(1);
        while (step < 1) {
            LockSupport.park();
        }
        other(me);
        more(me);
    }

    /** Called through the JVM's native code, and in the kernel when profiling stops. */
    static void reads(Subject me) throws IOException {
        Pipe pipe = Pipe.open();
        me.pipe = pipe;
        me.arrived.set(1);
        pipe.source().read(ByteBuffer.allocate(1));
        burnHere(me, 2);
    }

    static void reflected(Subject me) throws Exception {
        Phases.class.getDeclaredMethod("reads", Subject.class).invoke(null, me);
        more(me);
    }

    static final ThreadLocal<Subject> INITIALISING = new ThreadLocal<>();

    static class Initialised {
        static {
            Subject me = INITIALISING.get();
            phase1(me);
            burnHere(me, 2);
        }

        static void use() {
        }
    }

    static class InitialisedByVirtual {
        static {
            Subject me = INITIALISING.get();
            phase1(me);
            burnHere(me, 2);
        }

        static void use() {
        }
    }

    static void initialiser(Subject me, boolean virtual) {
        INITIALISING.set(me);
        if (virtual) {
            InitialisedByVirtual.use();
        } else {
            Initialised.use();
        }
        more(me);
    }

    /** A class of its own: its lambdas are lambda$pipeline$0 and lambda$pipeline$1. */
    static class Stream {
        static void pipeline(Subject me) {
            IntStream.of(1).peek(n -> waitHere(me, 1)).forEach(n -> burnHere(me, 2));
            more(me);
        }
    }

    static void waiting(Subject me) throws InterruptedException {
        synchronized (me) {
            me.arrived.set(1);
            while (step < 1) {
                me.wait();
            }
            other(me);
        }
        more(me);
    }

    static class Gate {
        volatile boolean closed;

        synchronized void keep() {
            closed = true;
            while (step < 1) {
                LockSupport.parkNanos(1_000_000);
            }
        }

        synchronized void pass(Subject me) {
            burnHere(me, 2);
        }
    }

    static void blocked(Subject me) {
        Gate gate = new Gate();
        Thread keeper = new Thread(gate::keep, "keeper");
        keeper.setDaemon(true);
        keeper.start();
        while (!gate.closed) {
            Thread.yield();
        }
        me.arrived.set(1);
        gate.pass(me);
        more(me);
    }

    static void tell(Story story, Subject me) {
        try {
            story.run(me);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static void add(String name, boolean virtual, Story story) throws Exception {
        Subject me = new Subject();
        SUBJECTS.put(name, me);
        Runnable run = () -> tell(story, me);
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

    static void addAll(String prefix, boolean virtual, boolean alike) throws Exception {
        if (alike) {
            add(prefix + "alike", virtual, Phases::alike);
            return;
        }
        add(prefix + "returned", virtual, Phases::returned);
        add(prefix + "stays", virtual, Phases::stays);
        add(prefix + "recursive", virtual, me -> recursive(me, 7));
        add(prefix + "constructor", virtual, Phases::constructor);
        add(prefix + "caught", virtual, Phases::caught);
        add(prefix + "inCatch", virtual, Phases::inCatch);
        add(prefix + "silent", virtual, Phases::silent);
        add(prefix + "parked", virtual, Phases::parked);
        add(prefix + "reflected", virtual, Phases::reflected);
        add(prefix + "initialiser", virtual, me -> initialiser(me, virtual));
        add(prefix + "pipeline", virtual, Stream::pipeline);
        add(prefix + "waiting", virtual, Phases::waiting);
        add(prefix + "blocked", virtual, Phases::blocked);
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

    static void wake() throws IOException {
        for (Thread thread : THREADS) {
            LockSupport.unpark(thread);
        }
        for (Subject subject : SUBJECTS.values()) {
            synchronized (subject) {
                subject.notifyAll();
            }
            if (subject.pipe != null && step == 1) {
                subject.pipe.sink().write(ByteBuffer.allocate(1));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        List<String> options = List.of(args);
        boolean alike = options.contains("alike");
        addAll("", false, alike);
        if (options.contains("virtual")) {
            addAll("v-", true, alike);
        }
        reach(1);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNext();) {
            if (in.next().equals("step")) {
                step++;
                wake();
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
