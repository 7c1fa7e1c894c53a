import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Loads classes that nobody else has, a few of each loader, runs them and lets go of them. A line of standard input
 * is how many; the answer is how many it was in all, and what they counted. A minus before it: all of one name.
 */
public class ClassChurn {
    static final int OF_A_LOADER = 8;
    static final String NUMBER = "_0000000";
    static final String TEMPLATE = "ClassChurn$Made" + NUMBER;

    public static class Made_0000000 implements Runnable {
        @Override
        public void run() {
            made += step_0000000(this, 2) - step_0000000(this, 1);
            int n = made % 16 == 0 ? 70_000 : 0; // some become compiled code
            for (int i = 0; i < n; i++) {
                churned += step_0000000(this, i) & 1;
            }
        }

        /** Its name and its descriptor are those of this class alone. */
        static int step_0000000(Made_0000000 of, int n) {
            return n < 0 ? churned : n + 1;
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static int made;
    public static int churned;

    static byte[] named(byte[] template, int number) {
        byte[] bytes = template.clone();
        byte[] from = NUMBER.getBytes(StandardCharsets.US_ASCII);
        byte[] to = String.format("_%07d", number).getBytes(StandardCharsets.US_ASCII);
        for (int at = 0; at + from.length <= bytes.length; at++) {
            int same = 0;
            while (same < from.length && bytes[at + same] == from[same]) {
                same++;
            }
            if (same == from.length) {
                System.arraycopy(to, 0, bytes, at, to.length);
            }
        }
        return bytes;
    }

    static void churn(byte[] template, int count, boolean oneName) throws Exception {
        Loader loader = new Loader();
        int end = made + count;
        while (made < end) {
            if (oneName || made % OF_A_LOADER == 0) {
                loader = new Loader();
            }
            Class<?> type = loader.define(named(template, oneName ? 1 : made + 1));
            ((Runnable) type.getDeclaredConstructor().newInstance()).run();
        }
        System.gc();
    }

    public static void main(String[] args) throws Exception {
        byte[] template;
        try (InputStream in = Made_0000000.class.getResourceAsStream(TEMPLATE + ".class")) {
            template = in.readAllBytes();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int count = Integer.parseInt(line);
            churn(template, Math.abs(count), count < 0);
            System.out.println(made);
        }
    }
}
