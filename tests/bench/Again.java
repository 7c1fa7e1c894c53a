import com.sun.management.OperatingSystemMXBean;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Locale;
import javax.tools.ToolProvider;

/**
 * A program that does the same again and again for so many seconds, as a build server does: `Again SECONDS javac
 * ARGUMENTS…`, likewise `ecj`, or `jython SCRIPT`. Of each pass a line: "pass", the second at which it ended, and
 * the CPU time of the process in it.
 */
public class Again {
    private Again() {
    }

    private static void pass(String what, String[] arguments) throws ReflectiveOperationException {
        switch (what) {
            case "javac" -> ToolProvider.getSystemJavaCompiler().run(null, OutputStream.nullOutputStream(),
                    OutputStream.nullOutputStream(), arguments);
            case "ecj" -> ecj().invoke(null, arguments, silent(), silent(), null);
            case "jython" -> {
                Class<?> type = Class.forName("org.python.util.PythonInterpreter");
                Object interpreter = type.getConstructor().newInstance();
                type.getMethod("setOut", OutputStream.class).invoke(interpreter, OutputStream.nullOutputStream());
                type.getMethod("execfile", String.class).invoke(interpreter, arguments[0]);
            }
            default -> throw new IllegalArgumentException(what);
        }
    }

    private static Method ecj() throws ClassNotFoundException {
        return Arrays.stream(Class.forName("org.eclipse.jdt.core.compiler.batch.BatchCompiler").getMethods())
                .filter(m -> m.getName().equals("compile") && m.getParameterTypes()[0] == String[].class)
                .findFirst().orElseThrow();
    }

    private static PrintWriter silent() {
        return new PrintWriter(OutputStream.nullOutputStream());
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        String[] rest = Arrays.copyOfRange(arguments, 2, arguments.length);
        long began = System.nanoTime();
        double seconds = 0;
        while (seconds < Double.parseDouble(arguments[0])) {
            long before = system.getProcessCpuTime();
            pass(arguments[1], rest);
            seconds = (System.nanoTime() - began) / 1e9;
            System.out.printf(Locale.ROOT, "pass %.3f %.3f%n", seconds, (system.getProcessCpuTime() - before) / 1e9);
            System.out.flush();
        }
    }
}
