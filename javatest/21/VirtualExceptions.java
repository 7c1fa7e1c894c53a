/*
 * Exceptions that are thrown after the virtual thread went on elsewhere: caught several frames up, half-way up by a
 * finally that is unmounted itself, and by nobody: then its handler runs, its own or that of all threads.
 *
 * Expected:
 *   thread main
 *     1 VirtualExceptions.<clinit>
 *     1 VirtualExceptions.main
 *       2 VirtualExceptions$Handler.<init>
 *   virtual caught-{0..9} from main
 *     1 VirtualExceptions.catches
 *       10 VirtualExceptions.down * 4
 *         10 VirtualExceptions.fails
 *       10 VirtualExceptions.caught
 *   virtual finally from main
 *     1 VirtualExceptions.cleansUp
 *       10 VirtualExceptions.half
 *         10 VirtualExceptions.down * 2
 *           10 VirtualExceptions.fails
 *         10 VirtualExceptions.nap
 *       10 VirtualExceptions.caught
 *   virtual own from main
 *     1 VirtualExceptions.uncaught
 *       1 VirtualExceptions.down * 5
 *         1 VirtualExceptions.fails
 *     1 VirtualExceptions$Handler.uncaughtException
 *       1 VirtualExceptions.nap
 *   virtual default from main
 *     1 VirtualExceptions.uncaught
 *       1 VirtualExceptions.down * 5
 *         1 VirtualExceptions.fails
 *     1 VirtualExceptions$Handler.uncaughtException
 *       1 VirtualExceptions.nap
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class VirtualExceptions {
    static final AtomicInteger CAUGHT = new AtomicInteger();

    static class Handler implements Thread.UncaughtExceptionHandler {
        final String name;

        Handler(String name) {
            this.name = name;
        }

        @Override
        public void uncaughtException(Thread thread, Throwable e) {
            nap();
            System.out.println(name + ": " + thread.getName() + " " + e.getMessage());
        }
    }

    static void nap() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void fails() throws InterruptedException {
        Thread.sleep(1);
        throw new IllegalStateException("after a nap");
    }

    static void down(int n) throws InterruptedException {
        if (n == 1) {
            fails();
        } else {
            down(n - 1);
        }
    }

    static void caught() {
        CAUGHT.incrementAndGet();
    }

    static void catches() {
        for (int i = 0; i < 10; i++) {
            try {
                down(4);
            } catch (IllegalStateException | InterruptedException e) {
                caught();
            }
        }
    }

    static void half() throws InterruptedException {
        try {
            down(2);
        } finally {
            nap();
        }
    }

    static void cleansUp() {
        for (int i = 0; i < 10; i++) {
            try {
                half();
            } catch (IllegalStateException | InterruptedException e) {
                caught();
            }
        }
    }

    static void uncaught() {
        try {
            down(5);
        } catch (InterruptedException e) {
            caught();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            threads.add(Thread.ofVirtual().name("caught-" + i).start(VirtualExceptions::catches));
        }
        threads.add(Thread.ofVirtual().name("finally").start(VirtualExceptions::cleansUp));
        for (Thread thread : threads) {
            thread.join();
        }
        Handler handler = new Handler("its own");
        Thread.ofVirtual().name("own").uncaughtExceptionHandler(handler).start(VirtualExceptions::uncaught).join();
        Thread.setDefaultUncaughtExceptionHandler(new Handler("that of all"));
        Thread.ofVirtual().name("default").start(VirtualExceptions::uncaught).join();
        System.out.println(CAUGHT.get());
    }
}
