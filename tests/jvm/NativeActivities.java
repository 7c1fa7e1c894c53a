import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import treadle.Activity;

/**
 * A native library pushes logical frames, each kind on a thread of its own. Each line of standard input is the name of
 * a part; its answer says how often a part did what only the part knows.
 */
public class NativeActivities {
    static final int STEPS = 300_000;
    static final CountDownLatch HELD = new CountDownLatch(1);
    static final CountDownLatch GO = new CountDownLatch(1);
    static volatile long sum;
    static volatile Object told = 0;
    static volatile Thread waiting;

    static {
        System.loadLibrary("native_activities");
    }

    static native void nested();

    static native void between();

    static native void lower();

    static native void hide();

    static native int mark();

    static native void forget();

    static native void risk();

    static native void careless();

    static native String ids();

    static native void jumps();

    static native void sink();

    static native int storm();

    static native int restless(boolean apart);

    static native int interrupted();

    static native void spin();

    static native void attach();

    static native void deep(int levels);

    static native void hold();

    static void leaf() {
        sum++;
    }

    static void thrower() {
        throw new IllegalStateException();
    }

    static void middle() {
        lower();
        leaf();
    }

    static void step() {
        leaf();
    }

    static void steps() {
        for (int i = 0; i < STEPS; i++) {
            step();
        }
    }

    static void odd() {
        sum++;
    }

    static void even() {
        sum++;
    }

    static void turns() {
        for (int i = 0; i < STEPS; i++) {
            odd();
            even();
        }
    }

    static void await() throws InterruptedException {
        HELD.countDown();
        GO.await();
        leaf();
    }

    static void nests() {
        for (int i = 0; i < 5; i++) {
            nested();
        }
        leaf();
    }

    static void between3() {
        for (int i = 0; i < 3; i++) {
            between();
        }
        leaf();
    }

    static void forgets() {
        forget();
        leaf();
    }

    static void forgetful() {
        for (int i = 0; i < 3; i++) {
            forgets();
            leaf();
        }
    }

    static void risks() {
        for (int i = 0; i < 4; i++) {
            try {
                risk();
            } catch (IllegalStateException e) {
                leaf();
            }
        }
    }

    static void carelessly() {
        for (int i = 0; i < 2; i++) {
            careless();
        }
    }

    static void sinks() {
        sink();
    }

    static void over(int levels) {
        if (levels > 0) {
            over(levels - 1);
        } else {
            nested();
        }
        leaf();
    }

    /** The frame that is left behind was pushed in fewer calls, and deeper on the stack. */
    static void sinking() {
        sinks();
        over(2);
    }

    /** A native library's part of a chain of the Java method that calls the library, and a chain of its own. */
    static void chaining() {
        try (Activity java = Activity.begin("java")) {
            told = java.id() + " " + ids();
        }
    }

    static void jumping() {
        for (int i = 0; i < 2; i++) {
            jumps();
            leaf();
        }
    }

    static void stormy() {
        told = storm();
    }

    static void attaching() {
        attach();
    }

    static void deepening() {
        deep(70);
        leaf();
    }

    static void holding() {
        hold();
        leaf();
    }

    static void hiding() {
        hide();
        leaf();
    }

    static void restlessly() {
        told = restless(false);
        leaf();
    }

    static void apart() {
        told = restless(true);
        leaf();
    }

    static void spins() {
        long until = System.nanoTime() + 300_000_000L;
        while (System.nanoTime() < until) {
            sum++;
        }
    }

    static void spinning() {
        spin();
        leaf();
    }

    static void interrupting() {
        told = interrupted();
        leaf();
    }

    static void marking() {
        told = mark();
    }

    static void on(String name, Runnable part, boolean waits) {
        Thread thread = new Thread(part, name);
        thread.setDaemon(true);
        thread.start();
        try {
            if (waits) {
                thread.join();
            } else {
                HELD.await();
                waiting = thread;
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void naps() {
        try {
            nested();
            Thread.sleep(1);
            nested();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Of no JDK before 21. */
    static void virtual() {
        try {
            Method startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
            Thread[] threads = new Thread[20];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = (Thread) startVirtual.invoke(null, (Runnable) NativeActivities::naps);
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void go() {
        GO.countDown();
        try {
            waiting.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void run(String part) {
        switch (part) {
            case "nests" -> on(part, NativeActivities::nests, true);
            case "between" -> on(part, NativeActivities::between3, true);
            case "forgetful" -> on(part, NativeActivities::forgetful, true);
            case "risks" -> on(part, NativeActivities::risks, true);
            case "carelessly" -> on(part, NativeActivities::carelessly, true);
            case "sinking" -> on(part, NativeActivities::sinking, true);
            case "chaining" -> on(part, NativeActivities::chaining, true);
            case "jumping" -> on(part, NativeActivities::jumping, true);
            case "stormy" -> on(part, NativeActivities::stormy, true);
            case "attaching" -> on(part, NativeActivities::attaching, true);
            case "deepening" -> on(part, NativeActivities::deepening, true);
            case "held" -> on(part, NativeActivities::holding, false);
            case "hiding" -> on(part, NativeActivities::hiding, true);
            case "marking" -> on(part, NativeActivities::marking, false);
            case "spinning" -> on(part, NativeActivities::spinning, true);
            case "interrupting" -> on(part, NativeActivities::interrupting, true);
            case "restlessly" -> on(part, NativeActivities::restlessly, true);
            case "apart" -> on(part, NativeActivities::apart, true);
            case "go" -> go();
            case "virtual" -> virtual();
            default -> throw new IllegalArgumentException(part);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("started");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            run(line);
            System.out.println(line + " " + told);
        }
    }
}
