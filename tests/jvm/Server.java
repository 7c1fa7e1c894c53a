import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * An HTTP server that answers each request in a thread of its own, a virtual one where the JDK has them:
 * `/?n=98` with `98 134`, the digits of 98, 99, … 117 added up. Prints its port, and when standard input ends
 * the number of requests that it had.
 */
public class Server implements HttpHandler {
    static final int NUMBERS = 20;
    static final LongAdder REQUESTS = new LongAdder();

    static int parse(String query) {
        return Integer.parseInt(query.substring(query.indexOf('=') + 1));
    }

    static int digits(int n) {
        int sum = 0;
        for (int rest = n; rest > 0; rest /= 10) {
            sum += rest % 10;
        }
        return sum;
    }

    static int compute(int n) {
        int sum = 0;
        for (int i = 0; i < NUMBERS; i++) {
            sum += digits(n + i);
        }
        return sum;
    }

    static byte[] render(int n, int sum) {
        return (n + " " + sum).getBytes(StandardCharsets.US_ASCII);
    }

    static void send(HttpExchange exchange, byte[] body) throws IOException {
        exchange.sendResponseHeaders(200, body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        REQUESTS.increment();
        int n = parse(exchange.getRequestURI().getQuery());
        send(exchange, render(n, compute(n)));
    }

    /** Compiled for JDKs that have no virtual threads. */
    static ExecutorService executor() throws ReflectiveOperationException {
        if (Runtime.version().feature() < 21) {
            return Executors.newCachedThreadPool();
        }
        return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("sun.net.httpserver.nodelay", "true"); // or 40 ms a request
        ExecutorService executor = executor();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", new Server());
        server.setExecutor(executor);
        server.start();
        System.out.println(server.getAddress().getPort());
        while (System.in.read() != -1) {
            continue;
        }
        server.stop(0);
        executor.shutdown();
        executor.awaitTermination(60, TimeUnit.SECONDS);
        System.out.println(REQUESTS.sum());
    }
}
