/** Threads that enter one monitor in turns: some hold it while they sleep, some while they compute. */
public final class Contended {
    private static final Object LOCK = new Object();
    private static long sum;

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        var threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            boolean sleeps = i % 2 == 0;
            threads[i] = new Thread(() -> enter(rounds, sleeps), "contender-" + i);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
    }

    private static void enter(int rounds, boolean sleeps) {
        for (int i = 0; i < rounds; i++) {
            synchronized (LOCK) {
                hold(sleeps);
            }
            Thread.yield();
        }
    }

    private static void hold(boolean sleeps) {
        if (sleeps) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        } else {
            for (int i = 0; i < 200_000; i++)
                sum = sum * 31 + i;
        }
    }
}
