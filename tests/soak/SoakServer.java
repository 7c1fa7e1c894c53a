import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server whose answers are known: /sum?n (of the numbers below), /threads?n (so many are started, and each counts),
 * /classes?n (so many are generated, loaded, run and dropped). Prints its port.
 */
public class SoakServer {
    static byte[] template;

    static long sum(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum = add(sum, i);
        }
        return sum;
    }

    static long add(long sum, int i) {
        return sum + (i % 7 == 0 ? twice(i) / 2 : i);
    }

    static long twice(int i) {
        return 2L * i;
    }

    static long threads(int n) throws InterruptedException {
        AtomicInteger counted = new AtomicInteger();
        for (int started = 0; started < n; started += 50) {
            Thread[] some = new Thread[Math.min(50, n - started)];
            for (int i = 0; i < some.length; i++) {
                some[i] = new Thread(() -> counted.addAndGet(sum(100) == 4950 ? 1 : 0), "soak-" + (started + i));
                some[i].start();
            }
            for (Thread thread : some) {
                thread.join();
            }
        }
        return counted.get();
    }

    static synchronized long classes(int n) throws Exception {
        int before = ClassChurn.made;
        ClassChurn.churn(template, n, false);
        return ClassChurn.made - before;
    }

    static void answer(HttpExchange exchange) throws IOException {
        int n = Integer.parseInt(exchange.getRequestURI().getQuery());
        String path = exchange.getRequestURI().getPath();
        long answer;
        try {
            answer = path.equals("/threads") ? threads(n) : path.equals("/classes") ? classes(n) : sum(n);
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            answer = -1;
        }
        byte[] text = Long.toString(answer).getBytes(StandardCharsets.US_ASCII);
        exchange.sendResponseHeaders(200, text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    public static void main(String[] args) throws Exception {
        try (InputStream in = SoakServer.class.getResourceAsStream(ClassChurn.TEMPLATE + ".class")) {
            template = in.readAllBytes();
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", SoakServer::answer);
        server.start();
        System.out.println(server.getAddress().getPort());
        while (System.in.read() >= 0) {
            // until standard input ends
        }
        System.exit(0);
    }
}
