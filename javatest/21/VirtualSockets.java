/*
 * An echo server on the loopback device, one virtual thread a connection, and virtual clients: reads and writes
 * that unmount. The server's thread is the parent of those that serve.
 *
 * Expected:
 *   thread main
 *     1 VirtualSockets.<clinit>
 *     1 VirtualSockets.main
 *       1 VirtualSockets.listen
 *       5 VirtualSockets$Client.<init>
 *   virtual server from main
 *     1 VirtualSockets.lambda$main$0
 *       1 VirtualSockets.accepts
 *         5 VirtualSockets.accept
 *           5 VirtualSockets$Echo.<init>
 *   virtual echo-{0..4} from server
 *     1 VirtualSockets$Echo.run
 *       101 VirtualSockets.receive
 *       100 VirtualSockets.send
 *   virtual client-{0..4} from main
 *     1 VirtualSockets$Client.run
 *       100 VirtualSockets.send
 *       100 VirtualSockets.receive
 *       100 VirtualSockets.check
 */
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class VirtualSockets {
    static final int CLIENTS = 5;
    static final int MESSAGES = 100;
    static final AtomicInteger RIGHT = new AtomicInteger();

    static void send(Socket socket, int byteSent) throws IOException {
        socket.getOutputStream().write(byteSent);
    }

    /** The next byte, -1 at the end. */
    static int receive(Socket socket) throws IOException {
        return socket.getInputStream().read();
    }

    static void check(int sent, int received) {
        if (sent == received) {
            RIGHT.incrementAndGet();
        }
    }

    static class Echo implements Runnable {
        final Socket socket;

        Echo(Socket socket) {
            this.socket = socket;
        }

        @Override
        public void run() {
            try (socket) {
                for (int one = receive(socket); one >= 0; one = receive(socket)) {
                    send(socket, one);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    static class Client implements Runnable {
        final int port;

        Client(int port) {
            this.port = port;
        }

        @Override
        public void run() {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                for (int i = 0; i < MESSAGES; i++) {
                    send(socket, i);
                    check(i, receive(socket));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    static Thread accept(ServerSocket server, int number) throws IOException {
        return Thread.ofVirtual().name("echo-" + number).start(new Echo(server.accept()));
    }

    static void accepts(ServerSocket server) {
        try {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                threads.add(accept(server, i));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static ServerSocket listen() throws IOException {
        return new ServerSocket(0, CLIENTS, InetAddress.getLoopbackAddress());
    }

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = listen()) {
            List<Thread> threads = new ArrayList<>();
            threads.add(Thread.ofVirtual().name("server").start(() -> accepts(server)));
            for (int i = 0; i < CLIENTS; i++) {
                threads.add(Thread.ofVirtual().name("client-" + i).start(new Client(server.getLocalPort())));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println(RIGHT.get());
    }
}
