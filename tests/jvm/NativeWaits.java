/**
 * Threads that wait in native code of the program's own, for no lock. It says of each kind: its name, which is the
 * thread's, the reason, how often it waited, and how long at the most, in ns.
 */
public class NativeWaits {
    static {
        System.loadLibrary("native_waits");
    }

    static native String kind(int kind);

    static native long await(int kind);

    static long waited;

    public static void main(String[] args) throws InterruptedException {
        int times = Integer.parseInt(args[0]);
        for (int kind = 0; kind(kind) != null; kind++) {
            int chosen = kind;
            String[] words = kind(kind).split(" ");
            Thread thread = new Thread(() -> {
                waited = 0;
                for (int i = 0; i < times; i++) {
                    waited += await(chosen);
                }
            }, words[0]);
            thread.start();
            thread.join();
            System.out.println(kind(kind) + " " + times + " " + waited);
        }
    }
}
