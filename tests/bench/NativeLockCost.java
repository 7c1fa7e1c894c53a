/**
 * A native library that locks and unlocks a mutex N times that nobody else wants (`lock`), or makes N system calls by
 * syscall(2) (`call`). Prints the wall time a turn, in ns, of the second of two rounds.
 */
public class NativeLockCost {
    static native void lock(long times);

    static native void call(long times);

    static void round(String kind, long times) {
        if (kind.equals("lock")) {
            lock(times);
        } else {
            call(times);
        }
    }

    public static void main(String[] arguments) {
        long times = Long.parseLong(arguments[1]);
        System.loadLibrary("native_lock_cost");
        round(arguments[0], times);
        long began = System.nanoTime();
        round(arguments[0], times);
        System.out.println((System.nanoTime() - began) / (double) times);
    }
}
