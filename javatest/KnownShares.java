/*
 * Three methods that burn CPU in the ratio 30:20:50. Each measures, by the JVM's own thread CPU clock,
 * what it really burnt; the tree's shares must be the same to within one percentage point.
 *
 * Expected:
 *   thread main
 *     1 KnownShares.<clinit>
 *     1 KnownShares.main
 *       20 KnownShares.thirty
 *         20 KnownShares.burn
 *       20 KnownShares.twenty
 *         20 KnownShares.burn
 *       20 KnownShares.fifty
 *         20 KnownShares.burn
 */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class KnownShares {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static final int ROUNDS = 20;
    static final long MICROSECOND = 1000;
    static volatile long sink;

    /** Burns that much CPU and returns what it was in the end. */
    static long burn(long ns) {
        long start = threads.getCurrentThreadCpuTime();
        long burnt;
        do {
            long x = sink;
            for (int i = 0; i < 20_000; i++) {
                x = x * 6364136223846793005L + i;
            }
            sink = x;
            burnt = threads.getCurrentThreadCpuTime() - start;
        } while (burnt < ns);
        return burnt;
    }

    static long thirty() {
        return burn(15_000 * MICROSECOND);
    }

    static long twenty() {
        return burn(10_000 * MICROSECOND);
    }

    static long fifty() {
        return burn(25_000 * MICROSECOND);
    }

    public static void main(String[] args) {
        long thirty = 0;
        long twenty = 0;
        long fifty = 0;
        for (int i = 0; i < ROUNDS; i++) {
            thirty += thirty();
            twenty += twenty();
            fifty += fifty();
        }
        System.out.println("expect share KnownShares.thirty " + thirty);
        System.out.println("expect share KnownShares.twenty " + twenty);
        System.out.println("expect share KnownShares.fifty " + fifty);
        System.out.println("done");
    }
}
