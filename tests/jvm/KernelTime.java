import java.io.FileInputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Three phases of the same CPU time: in user code alone, in page faults, in system calls. Says how the kernel itself
 * divides each into user and system time, in its ticks. */
public class KernelTime {
    static int ticks; // of 10 ms, what /proc counts in: so long is a phase
    static final int MAPPED = 16 << 20;
    static final Path STAT = Path.of("/proc/thread-self/stat");

    static volatile long sink;
    static FileChannel file;
    static Object unsafe;
    static Method unmap;

    interface Phase {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        prepare(Path.of(arguments[0]));
        ticks = Integer.parseInt(arguments[1]);
        for (int i = 0; i < 3; i++) { // what is compiled and loaded first is in no phase
            computing();
            faulting();
            calling();
        }
        phase("computing", KernelTime::computing);
        phase("faulting", KernelTime::faulting);
        phase("calling", KernelTime::calling);
    }

    static void prepare(Path path) throws Exception {
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        file.write(ByteBuffer.allocate(1), MAPPED - 1);
        Class<?> owner = Class.forName("sun.misc.Unsafe");
        Field field = owner.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = field.get(null);
        unmap = owner.getMethod("invokeCleaner", ByteBuffer.class);
    }

    static void phase(String name, Phase phase) throws Exception {
        long[] before = times();
        long[] now = before;
        for (; now[0] + now[1] - before[0] - before[1] < ticks; now = times())
            phase.run();
        System.out.println("phase " + name + " " + (now[0] - before[0]) + " " + (now[1] - before[1]));
    }

    /** User and system time of the thread. */
    static long[] times() throws Exception {
        String text = Files.readString(STAT);
        String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
        return new long[] {Long.parseLong(fields[11]), Long.parseLong(fields[12])};
    }

    static void computing() {
        long x = sink;
        for (int i = 0; i < 10_000_000; i++)
            x = x * 31 + i;
        sink = x;
    }

    static void faulting() throws Exception {
        MappedByteBuffer mapped = file.map(FileChannel.MapMode.PRIVATE, 0, MAPPED);
        touch(mapped);
        unmap.invoke(unsafe, mapped);
    }

    /** Each page is copied when it is written first. */
    static void touch(MappedByteBuffer mapped) {
        for (int at = 0; at < MAPPED; at += 4096)
            mapped.put(at, (byte) 1);
    }

    static void calling() throws Exception {
        byte[] bytes = new byte[1 << 20];
        try (FileInputStream zeros = new FileInputStream("/dev/zero")) {
            for (int i = 0; i < 50; i++)
                sink += zeros.read(bytes);
        }
    }
}
