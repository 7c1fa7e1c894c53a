import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import treadle.Activity;

/**
 * Activities with ids. `middle PORT`: a process that serves requests with the help of the one at that port, and says
 * its own port. `front PORT`: one that makes requests there. Each line of standard input is the name of a part; it is
 * answered with what the program knows of it by itself.
 */
@SuppressWarnings("try")
public class Chains {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final String GIVEN = "00112233445566778899aabbccddeeff";
    static volatile long sink;
    static int port;
    static Socket kept;
    static Activity open;

    static void burn(long ms) {
        long until = THREADS.getCurrentThreadCpuTime() + ms * 1_000_000;
        while (THREADS.getCurrentThreadCpuTime() < until)
            sink++;
    }

    /** Sends a line to the process at the port, on one connection, and returns its answer. */
    static String asked(Socket peer, String line) throws IOException {
        var out = new PrintStream(peer.getOutputStream(), true);
        out.println(line);
        return new BufferedReader(new InputStreamReader(peer.getInputStream())).readLine();
    }

    /** "id elapsed cpu; …" of requests, and what the others told of theirs: all in ns. */
    static String call(int times, int ms) throws IOException {
        var told = new StringBuilder();
        if (kept == null)
            kept = new Socket(InetAddress.getLoopbackAddress(), port);
        for (int i = 0; i < times; i++) {
            try (var request = Activity.begin("request", "r" + i)) {
                long begin = System.nanoTime(), cpu = THREADS.getCurrentThreadCpuTime();
                String answer = asked(kept, request.id() + " " + ms);
                cpu = THREADS.getCurrentThreadCpuTime() - cpu;
                told.append(request.id()).append(' ').append(System.nanoTime() - begin).append(' ').append(cpu)
                    .append(' ').append(answer).append(';');
            }
        }
        return told.toString();
    }

    static void serve(Socket front) {
        try (front; var last = new Socket(InetAddress.getLoopbackAddress(), port)) {
            var in = new BufferedReader(new InputStreamReader(front.getInputStream()));
            var out = new PrintStream(front.getOutputStream(), true);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                out.println(served(last, words[0], Integer.parseInt(words[1])));
            }
        } catch (IOException e) {
            System.err.println(e);
        }
    }

    /** "elapsed cpu answer" */
    static String served(Socket last, String id, int ms) throws IOException {
        try (var serve = Activity.adopt(id, "serve")) {
            long begin = System.nanoTime(), cpu = THREADS.getCurrentThreadCpuTime();
            burn(2);
            String answer = asked(last, Activity.currentId() + " " + ms);
            cpu = THREADS.getCurrentThreadCpuTime() - cpu;
            return (System.nanoTime() - begin) + " " + cpu + " " + answer;
        }
    }

    static void middle() throws IOException {
        var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        var listener = new Thread(() -> {
            try {
                for (int i = 0;; i++)
                    new Thread(null, serving(server.accept()), "server-" + i).start();
            } catch (IOException e) {
                return; // the end
            }
        }, "listener");
        listener.setDaemon(true);
        listener.start();
        System.out.println(server.getLocalPort());
    }

    static Runnable serving(Socket front) {
        return () -> serve(front);
    }

    // ---- within one process: each part returns the ids that it used ----

    static String fan() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2, task -> new Thread(task, "pool"));
        String id;
        try (var outer = Activity.push("server"); var fan = Activity.begin("fan"); var inner = Activity.push("split")) {
            id = fan.id();
            if (!String.valueOf(id).equals(String.valueOf(inner.id())))
                return "another id inside";
            var captured = Activity.capture();
            var tasks = new ArrayList<java.util.concurrent.Future<?>>();
            for (int i = 0; i < 3; i++)
                tasks.add(pool.submit(captured.wrapCallable(() -> {
                    burn(3);
                    Thread.sleep(3);
                    return Activity.currentId();
                })));
            for (var task : tasks)
                if (!String.valueOf(id).equals(String.valueOf(task.get())))
                    return "another id in a task";
        }
        pool.shutdown();
        return id;
    }

    static String virtuals() throws Exception {
        var virtual = Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class);
        var ids = new StringBuilder();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            String id = String.format("%016x%016x", 0xabcdefL, i + 1);
            ids.append(id).append(' ');
            Runnable task = () -> {
                try (var leaf = Activity.adopt(id, "leaf")) {
                    for (int turn = 0; turn < 4; turn++) {
                        for (int round = 0; round < 100_000; round++)
                            sink++; // (a virtual thread cannot ask for its CPU time)
                        Thread.sleep(2);
                    }
                } catch (InterruptedException e) {
                    sink++;
                }
            };
            threads.add((Thread) virtual.invoke(Thread.class.getMethod("ofVirtual").invoke(null), task));
        }
        for (Thread thread : threads)
            thread.start();
        for (Thread thread : threads)
            thread.join();
        return ids.toString().strip();
    }

    static String odd() throws Exception {
        onOwnThread("twice", () -> {
            try (var a = Activity.adopt(GIVEN, "first"); var b = Activity.adopt(GIVEN, "second");
                 var c = Activity.adopt("1" + GIVEN.substring(1), "third")) {
                burn(1);
                expect(b.id(), GIVEN);
                expect(c.id(), "1" + GIVEN.substring(1));
                expect(Activity.currentId(), c.id());
            }
            try (var again = Activity.adopt(GIVEN.toUpperCase(), "again")) {
                expect(again.id(), GIVEN);
            }
        });
        onOwnThread("thrower", () -> {
            try (var risky = Activity.adopt("2" + GIVEN.substring(1), "risky")) {
                throw new IllegalStateException();
            } catch (IllegalStateException e) {
                sink++;
            }
        });
        onOwnThread("forgetful", () -> {
            try (var outer = Activity.push("outer")) {
                Activity.adopt("3" + GIVEN.substring(1), "forgotten");
            }
            try (var outer = Activity.adopt("4" + GIVEN.substring(1), "after")) {
                sink++;
            }
        });
        onOwnThread("keeper", () -> {
            try (var kept = Activity.adopt("5" + GIVEN.substring(1), "kept")) {
                Activity.capture().run(() -> sink++);
                expect(Activity.currentId(), kept.id());
                try (var same = Activity.adopt(kept.id(), "kept")) {
                    sink++;
                }
                expect(Activity.currentId(), kept.id());
            }
        });
        onOwnThread("mistaken", () -> {
            for (String bad : new String[] {null, "", "0".repeat(32), "x" + GIVEN.substring(1), GIVEN + "0"})
                try (var none = Activity.adopt(bad, "none")) {
                    expect(none.id(), null);
                }
        });
        return "odd";
    }

    static void expect(String found, String wanted) {
        if (!java.util.Objects.equals(found, isOn() ? wanted : null))
            System.out.println("id " + found + ", wanted " + wanted);
    }

    static boolean isOn() {
        try (var probe = Activity.begin("probe")) {
            return probe.id() != null;
        }
    }

    static void onOwnThread(String name, Runnable task) throws InterruptedException {
        var thread = new Thread(task, name);
        thread.start();
        thread.join();
    }

    static String answer(String[] words) throws Exception {
        switch (words[0]) {
        case "call":
            return call(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        case "fan":
            return fan();
        case "virtuals":
            return virtuals();
        case "many": {
            int times = Integer.parseInt(words[1]);
            for (int i = 0; i < times; i++)
                try (var one = Activity.begin("many")) {
                    sink++;
                }
            return "many";
        }
        case "open":
            open = Activity.begin("open");
            return String.valueOf(open.id());
        case "close": {
            String id = open.id();
            open.close();
            return String.valueOf(id);
        }
        case "odd":
            return odd();
        default:
            return "what?";
        }
    }

    public static void main(String[] arguments) throws Exception {
        port = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 0;
        if (arguments[0].equals("middle"))
            middle();
        else
            System.out.println("ready");
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine())
            System.out.println(answer(line.split(" ")));
    }
}
