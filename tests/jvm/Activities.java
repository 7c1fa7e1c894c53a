import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import treadle.Activity;

/**
 * Pushes logical frames, each kind on a thread of its own, and counts its pushes. Each line of standard input is the
 * name of a part; `tell` tells the counts since the last `tell`.
 */
@SuppressWarnings("try")
public class Activities {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final TreeMap<String, Long> PUSHES = new TreeMap<>();
    static final int REGISTERED = Activity.register("registered");
    static final int FORGOTTEN = Activity.register("forgotten");
    static final int FIRST = Activity.register("first");
    static final int SECOND = Activity.register("second", "2");
    static Activity open;
    static volatile long sink;

    static synchronized void count(String frame, long times) {
        PUSHES.merge(frame, times, Long::sum);
    }

    static synchronized String told() {
        String all = PUSHES.toString();
        PUSHES.clear();
        return all;
    }

    static void leaf() {
        sink++;
    }

    /* 1 outer: 1 A (1 inner: 1 B (p) (3 leaf), 1 leaf), 1 leaf */
    static void outer() {
        try (var a = Activity.push("A")) {
            count("A", 1);
            inner();
            leaf();
        }
        leaf();
    }

    static void inner() {
        try (var b = Activity.push("B", "p")) {
            count("B (p)", 1);
            for (int i = 0; i < 3; i++)
                leaf();
        }
    }

    static void thrower() {
        throw new IllegalStateException();
    }

    /* 1 exceptions: 5 risky (5 thrower), 5 leaf */
    static void exceptions() {
        for (int i = 0; i < 5; i++) {
            try (var risky = Activity.push("risky")) {
                count("risky", 1);
                thrower();
            } catch (IllegalStateException e) {
                leaf();
            }
        }
    }

    /* 1 handles: 4 handled (4 thrower, 4 within (4 thrower), 4 leaf): who catches stays in the frames */
    static void handles() {
        for (int i = 0; i < 4; i++) {
            try (var handled = Activity.push("handled")) {
                count("handled", 1);
                try {
                    thrower();
                } catch (IllegalStateException e) {
                    try (var within = Activity.push("within")) {
                        count("within", 1);
                        thrower();
                    } catch (IllegalStateException again) {
                        leaf();
                    }
                }
            }
        }
    }

    /* 1 forgetful: 3 forgets (3 forgotten (3 leaf)), 3 leaf */
    static void forgetful() {
        for (int i = 0; i < 3; i++) {
            forgets();
            leaf();
        }
    }

    static void forgets() {
        Activity.enter(FORGOTTEN);
        count("forgotten", 1);
        leaf();
    }

    /* 1 disorder: 4 first (4 second (2) (4 leaf)), 4 leaf. Eight pops do not match. */
    static void disorder() {
        for (int i = 0; i < 4; i++) {
            long first = Activity.enter(FIRST);
            count("first", 1);
            long second = Activity.enter(SECOND);
            count("second (2)", 1);
            leaf();
            Activity.leave(first);
            Activity.leave(second);
            leaf();
        }
    }

    /* Four times one below the other: 1 recurse: 1 deep: 1 recurse: … */
    static void recurse(int levels) {
        try (var deep = Activity.push("deep")) {
            count("deep", 1);
            if (levels > 1)
                recurse(levels - 1);
        }
    }

    /* 1 strangers: 1 shared (2 leaf): neither a second close nor one on another thread pops anything. */
    static void strangers() {
        try (var shared = Activity.push("shared")) {
            count("shared", 1);
            Activity inside = Activity.push("twice");
            count("twice", 1);
            inside.close();
            inside.close();
            leaf();
            CompletableFuture.runAsync(shared::close, task -> named("stranger", task)).join();
            leaf();
        }
    }

    static void registered() {
        for (int i = 0; i < 1000; i++) {
            long token = Activity.enter(REGISTERED);
            try {
                count("registered", 1);
                leaf();
            } finally {
                Activity.leave(token);
            }
        }
    }

    static void parameters() {
        for (int i = 0; i < 10_000; i++) {
            try (var many = Activity.push("many", "number " + i)) {
                count("many", 1);
            }
        }
    }

    /* 1 cut: 1 x…: no half of a character is left where a text is cut after 119 units */
    static void cut() {
        try (var cut = Activity.push("x".repeat(118) + "\ud83d\ude00".repeat(2))) {
            count("x".repeat(118) + "…", 1);
        }
    }

    /* On the thread `pool`: 3 request (7), with what it captured above: 3 inside (3 leaf) */
    static void futures() {
        ExecutorService pool = Executors.newSingleThreadExecutor(task -> new Thread(task, "pool"));
        try (var request = Activity.push("request", "7"); var inside = Activity.push("inside")) {
            count("request (7)", 1);
            count("inside", 1);
            var captured = Activity.capture();
            CompletableFuture.supplyAsync(captured.wrapSupplier(Activities::answer), pool)
                .thenApplyAsync(captured.wrapFunction(answer -> answer + answer()), pool)
                .thenAcceptAsync(answer -> captured.run(Activities::leaf), pool)
                .join();
            count("request (7)", 3);
            count("inside", 3);
        }
        pool.shutdown();
    }

    static int answer() {
        leaf();
        return 1;
    }

    static void virtuals() {
        ExecutorService each = perTask();
        CompletableFuture<?>[] all = new CompletableFuture<?>[60];
        for (int i = 0; i < all.length; i++) {
            String parameter = "k" + i % 3;
            all[i] = CompletableFuture.runAsync(() -> hop(parameter), each);
        }
        CompletableFuture.allOf(all).join();
        each.shutdown();
    }

    static void hop(String parameter) {
        try (var virtual = Activity.push("virtual", parameter)) {
            count("virtual (" + parameter + ")", 1);
            for (int i = 0; i < 5; i++) {
                leaf();
                pause(2);
            }
        }
    }

    /* Virtual threads, where there are any. */
    static ExecutorService perTask() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException e) {
            return Executors.newCachedThreadPool();
        }
    }

    static void burns() {
        long before = THREADS.getCurrentThreadCpuTime();
        long light = burn("light", 200_000_000);
        long heavy = burn("heavy", 400_000_000);
        System.out.println("burnt " + light + " " + heavy + " " + (THREADS.getCurrentThreadCpuTime() - before));
    }

    static long burn(String identifier, long ns) {
        count("burn (" + identifier + ")", 1);
        try (var activity = Activity.push("burn", identifier)) {
            long begin = THREADS.getCurrentThreadCpuTime(), now = begin;
            while (now - begin < ns) {
                for (int i = 0; i < 100_000; i++)
                    sink += i;
                now = THREADS.getCurrentThreadCpuTime();
            }
            return now - begin;
        }
    }

    /* Frames that are open while profiling is stopped or started. */
    static void opened() {
        open = Activity.push("opened");
    }

    static void closed() {
        open.close();
        leaf();
    }

    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void named(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static Runnable part(String name) {
        switch (name) {
            case "outer": return Activities::outer;
            case "exceptions": return Activities::exceptions;
            case "handles": return Activities::handles;
            case "forgetful": return Activities::forgetful;
            case "disorder": return Activities::disorder;
            case "recurse": return () -> recurse(4);
            case "strangers": return Activities::strangers;
            case "registered": return Activities::registered;
            case "cut": return Activities::cut;
            case "parameters": return Activities::parameters;
            case "futures": return Activities::futures;
            case "virtuals": return Activities::virtuals;
            case "burns": return Activities::burns;
            default: throw new IllegalArgumentException(name);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("started");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("opened")) {
                opened();
            } else if (line.equals("closed")) {
                closed();
            } else if (!line.equals("tell")) {
                named(line, part(line));
            }
            if (!line.equals("burns"))
                System.out.println(line.equals("tell") ? told() : line);
        }
    }
}
