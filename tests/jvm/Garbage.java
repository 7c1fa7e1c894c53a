import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/** Makes garbage, and some that lives for a while, until the process has used the CPU it is told. */
public class Garbage {
    static List<int[]> alive = new ArrayList<>();
    static long checksum;

    static void make(int n) {
        int[] array = new int[256 + n % 256];
        for (int i = 0; i < array.length; i++) {
            array[i] = i * n;
        }
        checksum += array[n % 256];
        if (n % 8 == 0) {
            alive.add(array);
        }
        if (alive.size() > 20_000) {
            alive = new ArrayList<>();
        }
    }

    public static void main(String[] args) {
        var system = (com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean();
        long enough = Long.parseLong(args[0]) * 1_000_000;
        for (int n = 0; system.getProcessCpuTime() < enough; ) {
            for (int i = 0; i < 2000; i++) {
                make(n++);
            }
        }
        System.gc();
        System.out.println(checksum != 0);
    }
}
