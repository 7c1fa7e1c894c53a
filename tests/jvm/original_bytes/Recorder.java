import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Scanner;

/**
 * A Java agent, loaded any number of times, that has classes transformed and only records what it is
 * shown; and the program that tells it when: `record AGENT FOLDER`, `work`.
 */
public class Recorder {
    static final List<Instrumentation> AGENTS = new ArrayList<>();

    public static void premain(String arguments, Instrumentation instrumentation) {
        AGENTS.add(instrumentation);
    }

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        AGENTS.add(instrumentation);
    }

    static boolean isWanted(Class<?> one) {
        return one.getName().startsWith("Subject") || one == ArrayList.class || one == HashMap.class
                || one.getName().equals("java.util.HashMap$Node");
    }

    /** The bytes that the agent is shown: what agents that were loaded before it have made of them. */
    static int record(int agent, Path folder) throws Exception {
        Instrumentation instrumentation = AGENTS.get(agent);
        List<Class<?>> wanted = new ArrayList<>();
        for (Class<?> one : instrumentation.getAllLoadedClasses()) {
            if (isWanted(one) && instrumentation.isModifiableClass(one)) {
                wanted.add(one);
            }
        }
        Files.createDirectories(folder);
        ClassFileTransformer recorder = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> one,
                                    ProtectionDomain domain, byte[] bytes) {
                if (one != null && isWanted(one)) {
                    write(folder.resolve(one.getName() + ".class"), bytes);
                }
                return null;
            }
        };
        instrumentation.addTransformer(recorder, true);
        instrumentation.retransformClasses(wanted.toArray(new Class<?>[0]));
        instrumentation.removeTransformer(recorder);
        return wanted.size();
    }

    static void write(Path path, byte[] bytes) {
        try {
            Files.write(path, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Scanner in = new Scanner(System.in);
        System.out.println("ready " + Subject.work());
        while (in.hasNext()) {
            String command = in.next();
            if (command.equals("record")) {
                System.out.println("recorded " + record(in.nextInt(), Path.of(in.next())));
            } else {
                System.out.println("worked " + Subject.work());
            }
        }
    }
}
