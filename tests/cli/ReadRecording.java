import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints how many samples of a recording are alike: their number, event, thread, state, weight in ns, and
 * the stack, the innermost frame first; each as class, method, descriptor, line, bytecode index and type.
 */
public final class ReadRecording {
    public static void main(String[] arguments) throws Exception {
        var counts = new TreeMap<String, Integer>();
        for (RecordedEvent event : RecordingFile.readAllEvents(Path.of(arguments[0]))) {
            if (event.getEventType().getName().equals("treadle.Ledger")) {
                System.out.println(String.join("\t", "ledger", event.getString("command"),
                        event.getString("metric"), "" + event.getDuration("sampleWeight").toNanos(),
                        "" + event.getLong("samples"), "" + event.getDuration("total").toNanos()));
                continue;
            }
            counts.merge(describe(event), 1, Integer::sum);
        }
        counts.forEach((what, count) -> System.out.println(count + "\t" + what));
    }

    private static String describe(RecordedEvent event) {
        RecordedThread thread = event.getThread("sampledThread");
        var line = new StringBuilder(event.getEventType().getName());
        String name = thread.getJavaName().isEmpty() ? thread.getOSName() : thread.getJavaName();
        line.append('\t').append(name.replace('\t', ' '));
        line.append('\t').append(event.getString("state"));
        line.append('\t').append(event.getDuration("weight").toNanos());
        List<RecordedFrame> frames = event.getStackTrace().getFrames();
        for (RecordedFrame frame : frames.subList(0, Math.min(frames.size(), 10))) {
            line.append('\t').append(frame.getMethod().getType().getName().replace('\t', ' '));
            line.append('.').append(frame.getMethod().getName().replace('\t', ' '));
            line.append(frame.getMethod().getDescriptor());
            line.append(' ').append(frame.getLineNumber());
            line.append(' ').append(frame.getBytecodeIndex());
            line.append(' ').append(frame.getType());
        }
        return line.toString().replace('\n', ' ');
    }
}
