import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;

/** Calls step() for ever and says after each thousand how often it did, without a buffer. */
public class Progress {
    static long steps;

    static void step() {
        steps++;
    }

    public static void main(String[] args) throws IOException {
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        while (true) {
            for (int i = 0; i < 1000; i++) {
                step();
            }
            out.write((steps + "\n").getBytes());
        }
    }
}
