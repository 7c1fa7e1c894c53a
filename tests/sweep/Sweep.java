import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * Loads and links, which verifies, but does not initialise every class of the modules and jars named
 * on its command line. Prints a line {@code WHERE CLASS ERROR} for each that fails to, and at the end
 * {@code linked N} and {@code not-linked N}.
 */
public class Sweep {
    private static int linked, notLinked;

    public static void main(String[] args) throws Exception {
        List<Path> jars = new ArrayList<>();
        for (String arg : args) {
            if (arg.endsWith(".jar"))
                jars.add(Path.of(arg));
            else
                sweepModules(arg);
        }
        URLClassLoader all = new URLClassLoader(urls(jars), ClassLoader.getPlatformClassLoader());
        for (Path jar : jars)
            sweepJar(jar, new JarLoader(jar, all));
        System.out.println("linked " + linked);
        System.out.println("not-linked " + notLinked);
    }

    /** Its own jar first, then all the others: as few missing classes as may be. */
    private static final class JarLoader extends URLClassLoader {
        private final ClassLoader others;

        JarLoader(Path jar, ClassLoader others) throws IOException {
            super(urls(List.of(jar)), ClassLoader.getPlatformClassLoader());
            this.others = others;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try {
                return super.findClass(name);
            } catch (ClassNotFoundException notHere) {
                return others.loadClass(name);
            }
        }
    }

    private static URL[] urls(List<Path> jars) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (Path jar : jars)
            urls.add(jar.toUri().toURL());
        return urls.toArray(new URL[0]);
    }

    /** A module's name, or {@code ALL}. */
    private static void sweepModules(String which) throws IOException {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        try (Stream<Path> each = Files.list(modules)) {
            for (Path module : (Iterable<Path>) each.sorted()::iterator)
                if (which.equals("ALL") || module.endsWith(which))
                    sweepModule(module);
        }
    }

    private static void sweepModule(Path module) throws IOException {
        List<String> names;
        try (Stream<Path> files = Files.walk(module)) {
            names = files.map(file -> module.relativize(file).toString()).toList();
        }
        for (String name : names)
            sweepFile(module.getFileName().toString(), name, ClassLoader.getSystemClassLoader());
    }

    private static void sweepJar(Path jar, ClassLoader loader) throws IOException {
        List<String> names;
        try (JarFile file = new JarFile(jar.toFile())) {
            names = file.stream().map(entry -> entry.getName()).toList();
        }
        for (String name : names)
            sweepFile(jar.getFileName().toString(), name, loader);
    }

    private static void sweepFile(String where, String file, ClassLoader loader) {
        if (!file.endsWith(".class") || file.startsWith("META-INF/") || file.endsWith("-info.class"))
            return;
        String name = file.substring(0, file.length() - 6).replace('/', '.');
        try {
            Class.forName(name, false, loader).getDeclaredConstructors(); // which links
            linked++;
        } catch (ClassNotFoundException | LinkageError | RuntimeException e) {
            notLinked++;
            String message = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            System.out.println(where + " " + name + " " + e.getClass().getName() + ": " + message);
        }
    }
}
