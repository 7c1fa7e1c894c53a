/** javac, once the JVM has been running for a while: what is asked about its methods is then sampled from its beginning. */
public class LateCompiler {
    private static final long WARM_UP_NS = 2_000_000_000L;

    public static void main(String[] arguments) throws Exception {
        for (long end = System.nanoTime() + WARM_UP_NS; System.nanoTime() < end; ) {
            Thread.onSpinWait();
        }
        com.sun.tools.javac.Main.main(arguments);
    }
}
