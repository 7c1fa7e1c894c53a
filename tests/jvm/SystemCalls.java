import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.Selector;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * System calls that wait, with and without an end to their patience, in a process whose threads are busy
 * besides: what they return and that none returned too early.
 */
public class SystemCalls {
    static final long MS = 1_000_000;
    static final int TIMES = 5;
    static volatile boolean over;
    static volatile long sink;

    interface Call {
        Object run() throws Exception;
    }

    /** What it returns, and whether it took that long. */
    static void timed(String what, long ms, Call call) throws Exception {
        for (int i = 0; i < TIMES; i++) {
            long start = System.nanoTime();
            Object result = call.run();
            long took = System.nanoTime() - start;
            // Where the kernel counts in milliseconds, one of them may be begun already.
            System.out.println(what + " " + result + (took >= (ms - 1) * MS ? "" : " after " + took + " ns"));
        }
    }

    static void waits() throws Exception {
        Object monitor = new Object();
        timed("sleep", 20, () -> {
            Thread.sleep(20);
            return "slept";
        });
        timed("wait", 20, () -> {
            synchronized (monitor) {
                for (long end = System.nanoTime() + 20 * MS; System.nanoTime() < end;) {
                    monitor.wait(20);
                }
            }
            return "waited";
        });
        timed("park", 20, () -> {
            for (long end = System.nanoTime() + 20 * MS; System.nanoTime() < end;) {
                LockSupport.parkNanos(end - System.nanoTime());
            }
            return Thread.interrupted();
        });
        timed("semaphore", 20, () -> new Semaphore(0).tryAcquire(20, TimeUnit.MILLISECONDS));
        timed("queue", 20, () -> new ArrayBlockingQueue<Integer>(1).poll(20, TimeUnit.MILLISECONDS));
        timed("latch", 20, () -> new CountDownLatch(1).await(20, TimeUnit.MILLISECONDS));
    }

    static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket near = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket far = server.accept()) {
            near.setSoTimeout(20);
            timed("read", 20, () -> {
                try {
                    return near.getInputStream().read();
                } catch (SocketTimeoutException e) {
                    return "timed out";
                }
            });
            server.setSoTimeout(20);
            timed("accept", 20, () -> {
                try {
                    return server.accept();
                } catch (SocketTimeoutException e) {
                    return "timed out";
                }
            });
            near.setSoTimeout(0);
            Thread writer = new Thread(() -> {
                try {
                    for (int i = 0; i < 200_000; i++) {
                        far.getOutputStream().write(i);
                    }
                    far.shutdownOutput();
                } catch (IOException e) {
                    System.out.println("write: " + e);
                }
            }, "writer");
            writer.start();
            long sum = 0;
            byte[] bytes = new byte[1000];
            for (int got = near.getInputStream().read(bytes); got > 0; got = near.getInputStream().read(bytes)) {
                for (int i = 0; i < got; i++) {
                    sum += bytes[i];
                }
            }
            writer.join();
            System.out.println("all read " + sum);
        }
    }

    static void selectors() throws Exception {
        try (Selector selector = Selector.open(); ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            server.configureBlocking(false);
            server.register(selector, SelectionKey.OP_ACCEPT);
            timed("select", 20, () -> selector.select(20));
            try (SocketChannel near = SocketChannel.open(server.getLocalAddress())) {
                System.out.println("selected " + selector.select() + " " + near.isConnected());
                server.accept().close();
            }
        }
    }

    static void processes() throws Exception {
        timed("process", 0, () -> {
            Process process = new ProcessBuilder("sh", "-c", "cat; exit 7").start();
            process.getOutputStream().write("piped".getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().close();
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    + process.waitFor();
        });
        timed("process in time", 20, () -> {
            Process process = new ProcessBuilder("sleep", "100").start();
            boolean ended = process.waitFor(20, TimeUnit.MILLISECONDS);
            process.destroyForcibly();
            return ended + " " + process.waitFor();
        });
    }

    static void locks(Path file) throws Exception {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Process other;
            try (FileLock lock = channel.lock()) {
                other = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                        System.getProperty("java.class.path"), "SystemCalls", "other", file.toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
                Thread.sleep(300); // it waits for the lock, most likely
                channel.write(ByteBuffer.wrap("first".getBytes(StandardCharsets.UTF_8)));
                System.out.println("lock " + lock.isValid());
            }
            System.out.println("the other has read " + (char) other.getInputStream().read()); // and has the lock
            Thread teller = new Thread(() -> {
                try {
                    Thread.sleep(300); // this one waits for the lock, most likely
                    other.getOutputStream().close();
                } catch (IOException | InterruptedException e) {
                    System.out.println("teller: " + e);
                }
            }, "teller");
            teller.start();
            try (FileLock lock = channel.lock()) {
                System.out.println("lock " + lock.isValid() + " " + Files.readString(file));
            }
            teller.join();
            System.out.println("the other ended with " + other.waitFor());
        }
    }

    /** Waits for the lock, tells what is in the file, and lets go of it once its input ends. */
    static void other(Path file) throws Exception {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileLock lock = channel.lock()) {
            System.out.print(Files.readString(file).charAt(0));
            System.out.flush();
            while (System.in.read() >= 0) {
                sink++;
            }
            channel.write(ByteBuffer.wrap("second".getBytes(StandardCharsets.UTF_8)));
            channel.force(lock.isShared());
        }
    }

    static void burn() {
        while (!over) {
            sink++;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("other")) {
            other(Path.of(args[1]));
            return;
        }
        Thread burner = new Thread(SystemCalls::burn, "burner");
        burner.start();
        waits();
        sockets();
        selectors();
        processes();
        locks(Path.of(args[0]));
        over = true;
        burner.join();
    }
}
