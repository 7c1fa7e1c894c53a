/*
 * Shutdown hooks after main has returned; main's row must still be called main.
 *
 * Expected:
 *   thread main
 *     1 ShutdownHooks.main
 *       2 ShutdownHooks.<init>
 *   thread hook-a
 *     1 ShutdownHooks.run
 *       12 ShutdownHooks.step
 *   thread hook-b
 *     1 ShutdownHooks.run
 *       12 ShutdownHooks.step
 */
public class ShutdownHooks implements Runnable {
    static void step() {
    }

    @Override
    public void run() {
        for (int i = 0; i < 12; i++) {
            step();
        }
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(new ShutdownHooks(), "hook-a"));
        Runtime.getRuntime().addShutdownHook(new Thread(new ShutdownHooks(), "hook-b"));
        System.out.println("end of main");
    }
}
