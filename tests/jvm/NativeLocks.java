import java.util.Scanner;
import java.util.Set;

/**
 * Threads that wait in native code for locks of the C library, or for words in the kernel, and take the time themselves. At each order `round` each
 * kind of lock has its turns: `owner` has the lock until `waiter` waits for it, and somewhat longer; then `waiter` has
 * it. The answer says for each kind how often and how long somebody waited, and how often and how long it was held by
 * anybody, and how often it was acquired: `kind waits ns holds ns acquisitions; …`. Holds and acquisitions are those of
 * owners: readers are none. With the word `virtual` the waiter is a virtual thread. The property `locks` names another
 * library than native_locks, the property `kinds` those that it has.
 */
public class NativeLocks {
    static final String[] KINDS = {
        "mutex", "recursive", "writer", "timed", "clocked", "timed_writer", "reader", "timed_reader", "expired", "robust",
        "clocked_writer", "clocked_reader", "condition", "timed_condition", "clocked_condition", "semaphore",
        "timed_semaphore", "clocked_semaphore", "barrier", "join", "timed_join", "clocked_join",
        "futex", "futex_bitset", "futex_pi"};
    static final Set<String> CHOSEN = Set.of(System.getProperty("kinds", String.join(",", KINDS)).split(","));
    static final int READER = 6;
    static final int TIMED_READER = 7;
    static final int EXPIRED = 8;
    static final int ROBUST = 9;
    static final int CLOCKED_READER = 11;
    static final int HELD_KINDS = 12;
    static final int BARRIER = 18;
    static final int TIMES = 3;
    static final int FIRST_MS = 12;
    static final int SECOND_MS = 7;

    static volatile boolean isOwned;
    static volatile boolean isWaiting;

    static {
        System.loadLibrary(System.getProperty("locks", "native_locks"));
        prepare();
    }

    static native void prepare();

    /** What is waited for later, where that is the end of a thread. */
    static native void create(int kind);

    static native int acquire(int kind);

    /** The same for the one that waits. */
    static native int acquireSecond(int kind);

    static native int release(int kind);

    static native int await(int kind);

    static native int signal(int kind);

    /** What the threads measured of one kind of lock. Each field is written by one thread. */
    static final class Meter {
        long waitNs;
        int waits;
        long giveNs;
        int gives; // that are waits, too
        long ownerNs;
        long waiterNs;
        int ownerHolds;
        int waiterHolds;
        int acquisitions;
    }

    static void until(boolean owned) throws InterruptedException {
        while (owned ? !isOwned : !isWaiting) {
            Thread.sleep(1);
        }
    }

    static void check(int result) {
        if (result != 0) {
            throw new IllegalStateException("the C library said " + result);
        }
    }

    /** A short hold of the lock before the other one comes: nobody waits for it, so it does not count. */
    static void hold(int kind, Meter meter) throws InterruptedException {
        check(acquire(kind));
        check(release(kind));
        check(acquire(kind));
        long since = System.nanoTime();
        isOwned = true;
        until(false);
        Thread.sleep(FIRST_MS);
        meter.acquisitions += 2;
        if (kind == ROBUST) {
            return; // the thread ends with it: a hold that nobody ended
        }
        meter.ownerNs += System.nanoTime() - since;
        meter.ownerHolds++;
        check(release(kind));
    }

    static void enter(int kind, Meter meter) throws InterruptedException {
        until(true);
        isWaiting = true;
        long since = System.nanoTime();
        check(acquireSecond(kind));
        long got = System.nanoTime();
        meter.waitNs += got - since;
        meter.waits++;
        if (kind == EXPIRED) {
            return;
        }
        Thread.sleep(SECOND_MS);
        if (kind != READER && kind != TIMED_READER && kind != CLOCKED_READER) {
            meter.waiterNs += System.nanoTime() - got;
            meter.waiterHolds++;
        }
        check(release(kind));
    }

    /** Who comes to a barrier last does not wait long, but by the same call. */
    static void give(int kind, Meter meter) throws InterruptedException {
        until(false);
        Thread.sleep(FIRST_MS);
        long since = System.nanoTime();
        check(signal(kind));
        if (kind == BARRIER) {
            meter.giveNs += System.nanoTime() - since;
            meter.gives++;
        }
    }

    static void take(int kind, Meter meter) {
        create(kind);
        isWaiting = true;
        long since = System.nanoTime();
        check(await(kind));
        meter.waitNs += System.nanoTime() - since;
        meter.waits++;
    }

    interface Turn {
        void run() throws InterruptedException;
    }

    static Runnable of(Turn turn) {
        return () -> {
            try {
                turn.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    static Thread start(String name, boolean isVirtual, Runnable run) throws ReflectiveOperationException {
        if (isVirtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
        }
        Thread thread = new Thread(run, name);
        thread.start();
        return thread;
    }

    static void round(boolean isVirtual) throws InterruptedException, ReflectiveOperationException {
        StringBuilder answer = new StringBuilder();
        for (int kind = 0; kind < KINDS.length; kind++) {
            if (!CHOSEN.contains(KINDS[kind])) {
                continue;
            }
            Meter meter = new Meter();
            for (int i = 0; i < TIMES; i++) {
                int lock = kind;
                isOwned = isWaiting = false;
                Thread waiter = start("waiter", isVirtual, of(() -> {
                    if (lock < HELD_KINDS) {
                        enter(lock, meter);
                    } else {
                        take(lock, meter);
                    }
                }));
                Thread owner = start("owner", false, of(() -> {
                    if (lock < HELD_KINDS) {
                        hold(lock, meter);
                    } else {
                        give(lock, meter);
                    }
                }));
                waiter.join();
                owner.join();
            }
            answer.append(String.format("%s%s %d %d %d %d %d", answer.length() == 0 ? "" : "; ", KINDS[kind],
                    meter.waits + meter.gives, meter.waitNs + meter.giveNs, meter.ownerHolds + meter.waiterHolds, meter.ownerNs + meter.waiterNs,
                    meter.acquisitions + meter.waiterHolds));
        }
        System.out.println(answer);
    }

    public static void main(String[] arguments) throws InterruptedException, ReflectiveOperationException {
        System.out.println("ready");
        try (Scanner orders = new Scanner(System.in)) {
            while (orders.hasNextLine()) {
                String order = orders.nextLine();
                if (order.startsWith("round")) {
                    round(order.endsWith("virtual"));
                }
            }
        }
    }
}
