import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * A program with thousands of methods, few of them large: PartXXX under many names, PartAAA, PartAAB and so on.
 * `load N` loads N more of them, and runs each once; `run N` runs all of them N times, ten times a second, beside
 * other work; `burn N` takes N ms of CPU time. The answer is how often the first was run so far.
 */
public class Crowd {
    static volatile long result;

    public static class PartXXX implements Runnable {
        static long sum;

        @Override
        public void run() {
            a();
            b();
            c();
            d();
            e();
            f();
            g();
            h();
            i();
            j();
            k();
            l();
            m();
            n();
            o();
            p();
            large();
        }

        static void a() {
            sum += 1;
        }

        static void b() {
            sum += 2;
        }

        static void c() {
            sum += 3;
        }

        static void d() {
            sum += 4;
        }

        static void e() {
            sum += 5;
        }

        static void f() {
            sum += 6;
        }

        static void g() {
            sum += 7;
        }

        static void h() {
            sum += 8;
        }

        static void i() {
            sum += 9;
        }

        static void j() {
            sum += 10;
        }

        static void k() {
            sum += 11;
        }

        static void l() {
            sum += 12;
        }

        static void m() {
            sum += 13;
        }

        static void n() {
            sum += 14;
        }

        static void o() {
            sum += 15;
        }

        static void p() {
            sum += 16;
        }

        /* Of 411 bytes of code. */
        static void large() {
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L; sum += 1_000_000_007L;
            sum += 1_000_000_007L;
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(String name, byte[] bytes) {
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static String name(int number) {
        return "Crowd$Part" + (char) ('A' + number / 676) + (char) ('A' + number / 26 % 26)
            + (char) ('A' + number % 26);
    }

    /* The name is in the class's constants only, each time in full. */
    static byte[] renamed(byte[] bytes, String name) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        return text.replace("Crowd$PartXXX", name).getBytes(StandardCharsets.ISO_8859_1);
    }

    static Runnable load(Loader loader, byte[] bytes, String name) throws ReflectiveOperationException {
        Class<?> type = loader.define(name, renamed(bytes, name));
        return (Runnable) type.getDeclaredConstructor().newInstance();
    }

    static byte[] bytesOfPart() throws IOException {
        try (InputStream in = Crowd.class.getResourceAsStream("/Crowd$PartXXX.class")) {
            return in.readAllBytes();
        }
    }

    static void round(List<Runnable> parts) throws InterruptedException {
        long until = System.nanoTime() + 30_000_000;
        for (Runnable part : parts) {
            part.run();
        }
        while (System.nanoTime() < until) {
            result++;
        }
        Thread.sleep(70);
    }

    static void burn(int ms) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long until = threads.getCurrentThreadCpuTime() + ms * 1_000_000L;
        while (threads.getCurrentThreadCpuTime() < until) {
            result++;
        }
    }

    public static void main(String[] args) throws Exception {
        List<Runnable> parts = new ArrayList<>();
        Loader loader = new Loader();
        byte[] bytes = bytesOfPart();
        Scanner lines = new Scanner(System.in);
        int runs = 0;
        System.out.println("ready");
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            int count = Integer.parseInt(words[1]);
            if (words[0].equals("load")) {
                for (int i = 0; i < count; i++) {
                    Runnable part = load(loader, bytes, name(parts.size()));
                    part.run();
                    parts.add(part);
                }
                runs++;
            } else if (words[0].equals("burn")) {
                burn(count);
            } else {
                for (int i = 0; i < count; i++) {
                    round(parts);
                }
                runs += count;
            }
            System.out.println(runs);
        }
    }
}
