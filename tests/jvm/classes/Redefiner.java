import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;

/** A Java agent that redefines classes. */
public class Redefiner {
    static Instrumentation instrumentation;

    public static void premain(String arguments, Instrumentation instrumentation) {
        Redefiner.instrumentation = instrumentation;
    }

    static void redefine(Class<?> one, byte[] bytes) throws Exception {
        instrumentation.redefineClasses(new ClassDefinition(one, bytes));
    }
}
