import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeSet;

/**
 * Forces a mapped file all the time, which fails (failing_msync.c). At each line it is told what the exceptions were
 * since the line before, and how often the agent's own function was called.
 */
public final class ForceErrors {
    private static final int BYTES = 4096;

    private static final int CALLS = 100; // each of the errors is among so many

    private static Set<String> seen = new TreeSet<>();
    private static int calls;

    private ForceErrors() {
    }

    static native int agentCalls();

    static void force(MappedByteBuffer mapped) {
        while (true) {
            String thrown = "nothing";

            try {
                mapped.force();
            } catch (UncheckedIOException e) {
                IOException cause = e.getCause();

                thrown = e.getClass().getName() + " " + e.getMessage() + ", " + cause.getClass().getName() + " "
                    + cause.getMessage();
            }
            synchronized (ForceErrors.class) {
                seen.add(thrown);
                calls++;
                ForceErrors.class.notifyAll();
            }
        }
    }

    private static synchronized String told() throws InterruptedException {
        String text;

        while (calls < CALLS)
            ForceErrors.class.wait();
        calls = 0;
        text = String.join("; ", seen);
        seen = new TreeSet<>();
        return text;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        System.load(arguments[0]);
        try (RandomAccessFile file = new RandomAccessFile(arguments[1], "rw")) {
            MappedByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
            Thread thread = new Thread(() -> force(mapped));

            thread.setDaemon(true);
            thread.start();
            System.out.println("ready");
            for (Scanner lines = new Scanner(System.in); lines.hasNextLine(); lines.nextLine())
                System.out.println(agentCalls() + "; " + told());
        }
    }
}
