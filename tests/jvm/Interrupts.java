/** Threads that wait for a moment, over and over, for as many milliseconds as is said: who was disturbed? */
public class Interrupts {
    static {
        System.loadLibrary("interrupts");
    }

    static native String waitShortly(int ms);

    public static void main(String[] args) throws Exception {
        int ms = Integer.parseInt(args[0]);
        String[] told = new String[Integer.parseInt(args[1])];
        Thread[] threads = new Thread[told.length];
        for (int i = 0; i < told.length; i++) {
            int mine = i;
            threads[i] = new Thread(() -> told[mine] = waitShortly(ms), "waits-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (String line : told) {
            System.out.println(line);
        }
    }
}
