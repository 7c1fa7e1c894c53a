import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Threads that wait, each in a way of its own, and one that spins, for as many milliseconds as is said. */
public class Waits {
    static final Object MONITOR = new Object();
    static final CountDownLatch READY = new CountDownLatch(6);
    static volatile boolean over;
    static volatile long sink;

    static {
        System.loadLibrary("waits");
    }

    /** In nanosleep, poll and select for that long each; what they returned. */
    static native String waitInKernel(int ms);

    interface Work {
        void run() throws Exception;
    }

    static Thread start(String name, Work work) {
        Thread thread = new Thread(() -> {
            READY.countDown();
            try {
                READY.await();
                work.run();
            } catch (Exception e) {
                System.out.println(name + ": " + e);
            }
        }, name);
        thread.start();
        return thread;
    }

    static void sleep(int ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    static void waitForIt() throws InterruptedException {
        synchronized (MONITOR) {
            while (!over) {
                MONITOR.wait();
            }
        }
    }

    static void park() {
        while (!over) {
            LockSupport.park();
        }
    }

    static void spin() {
        while (!over) {
            sink++;
        }
    }

    static void read(Socket socket) throws IOException {
        int got = socket.getInputStream().read();
        System.out.println("read " + got);
    }

    public static void main(String[] args) throws Exception {
        int ms = Integer.parseInt(args[0]);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket near = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket far = server.accept()) {
            String[] native_ = {""};
            Thread sleeper = start("sleeper", () -> sleep(ms));
            Thread waiter = start("waiter", Waits::waitForIt);
            Thread reader = start("reader", () -> read(near));
            Thread parker = start("parker", Waits::park);
            Thread spinner = start("spinner", Waits::spin);
            Thread inKernel = start("native", () -> native_[0] = waitInKernel(ms / 3));
            inKernel.join();
            sleeper.join();
            synchronized (MONITOR) {
                over = true;
                MONITOR.notifyAll();
            }
            LockSupport.unpark(parker);
            waiter.join();
            parker.join();
            spinner.join();
            far.getOutputStream().write(42);
            reader.join();
            System.out.println(native_[0]);
        }
    }
}
