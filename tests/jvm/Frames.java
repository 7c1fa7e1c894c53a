import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Random;
import java.util.zip.Deflater;

/**
 * Threads that burn CPU below frames of every kind, each in its own way until it has used as many milliseconds
 * as is said.
 */
public class Frames {
    /** Samples begin some time after the JVM has started. */
    private static final long BEFORE_SAMPLES_MS = 1000;

    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final int DEPTH = 2000;
    static int cpuMs;
    static volatile long sink;

    static {
        System.loadLibrary("frames");
    }

    /** Native, calls below(n). */
    static native long between(int n);

    interface Work {
        long run() throws Exception;
    }

    /** Until the calling thread has used the CPU that is said. */
    static void repeat(Work work) throws Exception {
        long end = THREADS.getCurrentThreadCpuTime() + cpuMs * 1_000_000L;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            sink += work.run();
        }
    }

    static long spin(int n) {
        long x = sink;
        for (int i = 0; i < n; i++) {
            x = x * 6364136223846793005L + i;
        }
        return x;
    }

    /** Small and hot: the JIT inlines it. */
    static long inlined(long x, int i) {
        return (x ^ x >>> 7) * 6364136223846793005L + i;
    }

    static long caller() {
        long x = sink;
        for (int i = 0; i < 20_000; i++) {
            x = inlined(x, i);
        }
        return x;
    }

    static long deflate() {
        byte[] bytes = new byte[200_000];
        new Random(1).nextBytes(bytes);
        Deflater deflater = new Deflater(9);
        deflater.setInput(bytes);
        deflater.finish();
        int packed = deflater.deflate(new byte[250_000]);
        deflater.end();
        return packed;
    }

    static final byte[] FROM = new byte[4_000_000];
    static final byte[] TO = new byte[4_000_000];

    static long copy() {
        for (int i = 0; i < 5; i++) {
            System.arraycopy(FROM, i, TO, 1, 3_900_000);
        }
        return TO[17];
    }

    static long below(int n) {
        return spin(n);
    }

    static long throughNative() {
        return between(20_000);
    }

    public static long reflected() {
        return spin(20_000);
    }

    static long reflect() throws ReflectiveOperationException {
        Method method = Frames.class.getMethod("reflected");
        return (Long) method.invoke(null);
    }

    static long down(int n) {
        return n == 1 ? spin(200_000) : down(n - 1) + 1;
    }

    static long recurse() {
        return down(DEPTH);
    }

    /** A virtual thread's clock is refused: it counts. In its first half all its frames are on the stack. */
    static void virtual() {
        for (int i = 0; i < cpuMs * 8; i++) {
            sink += middle();
            if (i > cpuMs * 4) {
                Thread.yield();
            }
        }
    }

    static long middle() {
        return spin(100_000);
    }

    static Thread start(String name, Work work) {
        Thread thread = new Thread(null, () -> {
            try {
                repeat(work);
            } catch (Exception e) {
                System.out.println(name + ": " + e);
            }
        }, name, 16 << 20);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread.sleep(BEFORE_SAMPLES_MS);
        cpuMs = Integer.parseInt(args[0]);
        Thread[] threads = {start("inline", Frames::caller), start("deflate", Frames::deflate),
                            start("copy", Frames::copy), start("native", Frames::throughNative),
                            start("reflect", Frames::reflect), start("recurse", Frames::recurse)};
        for (Thread thread : threads) {
            thread.join();
        }
        try {
            Method startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
            ((Thread) startVirtual.invoke(null, (Runnable) Frames::virtual)).join();
        } catch (NoSuchMethodException e) { // before 21
            virtual();
        }
        System.out.println("done");
    }
}
