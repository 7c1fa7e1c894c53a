/** Its initialiser waits: for the test, which starts and stops profiling meanwhile. */
public class Slow {
    static final int READY = await();

    static int await() {
        Classes.standstill();
        return 20;
    }

    static int after(int n) {
        return READY + n;
    }
}
