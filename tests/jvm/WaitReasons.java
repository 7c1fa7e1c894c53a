import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Threads that wait for a known reason each and take the time themselves. Some wait from the beginning to the end; at
 * each order `round` others wait one after the other, and the answer says for each how long and how often: `name reason
 * ns times; …`. With virtual threads where the JDK has them. The argument is the path of a FIFO.
 */
public class WaitReasons {
    static final int TIMES = 5;
    static final int MS = 20;
    static final int IO_TIMES = 3;
    static final int DISK_BYTES = 8 << 20;
    static final int IO_MS = 50; // a call of the JDK around the wait takes some 0.2 ms while it is cold
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final Object MONITOR = new Object(); // of the rounds
    static final Object QUIET = new Object();
    static final Object KEPT = new Object();

    static volatile boolean over;
    static volatile int turn; // of the one who waits: it is about to wait, or has the lock's owner to wait for
    static volatile int told; // of its partner
    static volatile Thread waiter;

    /** What one waiting thread measured. */
    static final class Meter {
        long ns;
        int times;

        void add(long since) {
            addUntil(offCpu(), since);
        }

        void addUntil(long now, long since) {
            ns += now - since;
            times++;
        }

        String told(String name, String reason) {
            return name + " " + reason + " " + ns + " " + times;
        }
    }

    /** A clock that stands still while the platform thread runs: a call around a wait is no wait. */
    static long offCpu() {
        boolean isVirtual = Thread.currentThread().getName().startsWith("virtual");
        return System.nanoTime() - (isVirtual ? 0 : THREADS.getCurrentThreadCpuTime());
    }

    interface Waiting {
        void run(Meter meter) throws Exception;
    }

    static boolean hasVirtualThreads() {
        return Runtime.version().feature() >= 21;
    }

    static void untilTurn(int number) throws InterruptedException {
        while (turn < number) {
            Thread.sleep(1);
        }
    }

    static void untilTold(int number) {
        while (told < number) {
            Thread.onSpinWait();
        }
    }

    // ---- who waits ----

    static void enter(Meter meter) {
        for (int i = 1; i <= TIMES; i++) {
            untilTold(i);
            long since = offCpu();
            synchronized (MONITOR) {
                meter.add(since);
            }
            turn = i;
        }
    }

    static void waitTimed(Meter meter) throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            synchronized (MONITOR) {
                long since = offCpu();
                MONITOR.wait(MS);
                meter.add(since);
            }
        }
    }

    static void waitNotified(Meter meter) throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            synchronized (MONITOR) {
                turn = i;
                while (told < i) {
                    long since = offCpu();
                    MONITOR.wait();
                    meter.add(since);
                }
            }
        }
    }

    static void parkTimed(Meter meter) {
        for (int i = 1; i <= TIMES; i++) {
            long since = offCpu();
            LockSupport.parkNanos(MS * 1_000_000L);
            meter.add(since);
        }
    }

    static void parkUntilTold(Meter meter) {
        for (int i = 1; i <= TIMES; i++) {
            turn = i;
            while (told < i) {
                long since = offCpu();
                LockSupport.park();
                meter.add(since);
            }
        }
    }

    static final ReentrantLock LOCK = new ReentrantLock();

    static void lock(Meter meter) {
        for (int i = 1; i <= TIMES; i++) {
            untilTold(i);
            long since = offCpu();
            LOCK.lock();
            meter.add(since);
            LOCK.unlock();
            turn = i;
        }
    }

    static void sleepOnce(Meter meter) throws InterruptedException {
        long since = offCpu();
        Thread.sleep(MS);
        meter.add(since);
    }

    static void sleep(Meter meter) throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            sleepOnce(meter);
        }
    }

    static void sleepInterrupted(Meter meter) {
        for (int i = 1; i <= TIMES; i++) {
            turn = i;
            long since = offCpu();
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                meter.add(since);
            }
        }
    }

    /** One after the other, in turn. */
    static void mixed(Meter slept, Meter parked, Meter waited) throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            sleepOnce(slept);
            long since = offCpu();
            LockSupport.parkNanos(MS * 1_000_000L);
            parked.add(since);
            synchronized (MONITOR) {
                since = offCpu();
                MONITOR.wait(MS);
                waited.add(since);
            }
        }
    }

    // ---- who waits for I/O ----

    static final byte[] NOBODYS = {10, (byte) 255, (byte) 255, 1};
    static InetAddress nobodyThere;
    static Pipe pipe;
    static ServerSocket server;
    static ServerSocketChannel serverChannel;
    static Socket reading;
    static SocketChannel readingChannel;
    static Selector selector;
    static String fifoPath;
    static InputStream fifo;
    static AutoCloseable accepted;
    static int times = IO_TIMES;

    interface Transfer {
        int run() throws Exception; // 1: as it should be
    }

    /** Waits so often, each time for what its partner does some time after the turn. */
    static void each(Meter meter, Transfer transfer) throws Exception {
        for (int i = 1; i <= times; i++) {
            turn = i;
            long since = offCpu();
            int done = transfer.run();
            meter.add(since);
            if (accepted != null) {
                accepted.close();
                accepted = null;
            }
            if (done != 1) {
                throw new IllegalStateException("got " + done);
            }
        }
    }

    static int readPipe() throws Exception {
        return pipe.source().read(ByteBuffer.allocate(1));
    }

    static int readSocket() throws Exception {
        return reading.getInputStream().read(new byte[1]);
    }

    static int readChannel() throws Exception {
        return readingChannel.read(ByteBuffer.allocate(1));
    }

    static int readUntilLate() throws Exception {
        try {
            return reading.getInputStream().read();
        } catch (SocketTimeoutException e) {
            return 1;
        }
    }

    static int accept() throws Exception {
        accepted = server.accept();
        return 1;
    }

    static int acceptChannel() throws Exception {
        accepted = serverChannel.accept();
        return 1;
    }

    static int select() throws Exception {
        selector.select();
        return 1;
    }

    static int selectTimed() throws Exception {
        return selector.select(IO_MS) + 1;
    }

    /** Not as long where the network answers for nobody. */
    static int reach() {
        try {
            nobodyThere.isReachable(IO_MS);
        } catch (IOException e) {
            return 1;
        }
        return 1;
    }

    static int readFifo() throws Exception {
        return fifo.read(new byte[1]);
    }

    // ---- their partners ----

    static Starts.Work later(Starts.Work work) {
        return () -> {
            for (int i = 1; i <= times; i++) {
                untilTurn(i);
                Thread.sleep(IO_MS);
                work.run();
            }
        };
    }

    static void nobody() {
    }

    static void own() throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            synchronized (MONITOR) {
                told = i;
                Thread.sleep(MS);
            }
            untilTurn(i);
        }
    }

    /** In vain at first. */
    static void notifyIt() throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            untilTurn(i);
            Thread.sleep(MS);
            synchronized (MONITOR) {
                MONITOR.notifyAll();
            }
            Thread.sleep(MS);
            synchronized (MONITOR) {
                told = i;
                MONITOR.notifyAll();
            }
        }
    }

    static void unpark() throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            untilTurn(i);
            Thread.sleep(MS);
            told = i;
            LockSupport.unpark(waiter);
        }
    }

    static void ownLock() throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            LOCK.lock();
            told = i;
            Thread.sleep(MS);
            LOCK.unlock();
            untilTurn(i);
        }
    }

    static void interrupt() throws InterruptedException {
        for (int i = 1; i <= TIMES; i++) {
            untilTurn(i);
            Thread.sleep(MS);
            waiter.interrupt();
        }
    }

    // ---- what java.util.concurrent has to wait for: each time a partner takes it, and gives it back ----

    static final ReentrantReadWriteLock READ_WRITE = new ReentrantReadWriteLock();
    static final Semaphore PERMIT = new Semaphore(1);
    static final BlockingQueue<Integer> QUEUE = new ArrayBlockingQueue<>(4);
    static volatile CompletableFuture<Integer> future;
    static volatile CountDownLatch latch;

    static Waiting waiting(Starts.Work once) {
        return meter -> {
            for (int i = 1; i <= times; i++) {
                untilTold(i);
                long since = offCpu();
                once.run();
                meter.add(since);
                turn = i;
            }
        };
    }

    static Starts.Work giving(Starts.Work take, Starts.Work give) {
        return () -> {
            for (int i = 1; i <= times; i++) {
                take.run();
                told = i;
                Thread.sleep(MS);
                give.run();
                untilTurn(i);
            }
        };
    }

    static void synchronizers(String kind, boolean isVirtual, List<String> answers) throws Exception {
        answers.add(one(kind + "read", "park", isVirtual, waiting(() -> {
            READ_WRITE.readLock().lock();
            READ_WRITE.readLock().unlock();
        }), giving(() -> READ_WRITE.writeLock().lock(), () -> READ_WRITE.writeLock().unlock())));
        answers.add(one(kind + "write", "park", isVirtual, waiting(() -> {
            READ_WRITE.writeLock().lock();
            READ_WRITE.writeLock().unlock();
        }), giving(() -> READ_WRITE.readLock().lock(), () -> READ_WRITE.readLock().unlock())));
        answers.add(one(kind + "permit", "park", isVirtual, waiting(() -> {
            PERMIT.acquire();
            PERMIT.release();
        }), giving(PERMIT::acquire, PERMIT::release)));
        answers.add(one(kind + "queue", "park", isVirtual, waiting(QUEUE::take),
                        giving(WaitReasons::nobody, () -> QUEUE.add(1))));
        answers.add(one(kind + "future", "park", isVirtual, waiting(() -> future.get()),
                        giving(() -> future = new CompletableFuture<>(), () -> future.complete(1))));
        answers.add(one(kind + "latch", "park", isVirtual, waiting(() -> latch.await()),
                        giving(() -> latch = new CountDownLatch(1), () -> latch.countDown())));
    }

    // ---- a round ----

    static String one(String name, String reason, boolean isVirtual, Waiting waiting, Starts.Work partner)
            throws Exception {
        Meter meter = new Meter();
        turn = 0;
        told = 0;
        waiter = Starts.start(name, isVirtual, () -> waiting.run(meter));
        partner.run();
        waiter.join();
        return meter.told(name, reason);
    }

    static String inTurn(String name, boolean isVirtual) throws Exception {
        Meter slept = new Meter();
        Meter parked = new Meter();
        Meter waited = new Meter();
        Starts.start(name, isVirtual, () -> mixed(slept, parked, waited)).join();
        return String.join("; ", slept.told(name, "sleep"), parked.told(name, "park"),
                           waited.told(name, "object_wait"));
    }

    static String io(String name, boolean isVirtual, Transfer transfer, Starts.Work partner) throws Exception {
        return one(name, "io", isVirtual, meter -> each(meter, transfer), partner);
    }

    static void sockets(String kind, boolean isVirtual, List<String> answers) throws Exception {
        InetAddress here = InetAddress.getLoopbackAddress();
        server = new ServerSocket(0, 50, here);
        serverChannel = ServerSocketChannel.open().bind(new InetSocketAddress(here, 0));
        InetSocketAddress channelAddress = (InetSocketAddress) serverChannel.getLocalAddress();
        Socket writing = new Socket(here, server.getLocalPort());
        reading = server.accept();
        SocketChannel writingChannel = SocketChannel.open(channelAddress);
        readingChannel = serverChannel.accept();

        answers.add(io(kind + "read-socket", isVirtual, WaitReasons::readSocket,
                       later(() -> writing.getOutputStream().write(1))));
        answers.add(io(kind + "read-channel", isVirtual, WaitReasons::readChannel,
                       later(() -> writingChannel.write(ByteBuffer.allocate(1)))));
        answers.add(io(kind + "accept", isVirtual, WaitReasons::accept,
                       later(() -> new Socket(here, server.getLocalPort()).close())));
        answers.add(io(kind + "accept-channel", isVirtual, WaitReasons::acceptChannel,
                       later(() -> SocketChannel.open(channelAddress).close())));
        nobodyThere = InetAddress.getByAddress(NOBODYS);
        answers.add(io(kind + "reach", isVirtual, WaitReasons::reach, WaitReasons::nobody));
        reading.setSoTimeout(IO_MS);
        answers.add(io(kind + "read-timed", isVirtual, WaitReasons::readUntilLate, WaitReasons::nobody));
        for (AutoCloseable each : new AutoCloseable[] {writing, reading, writingChannel, readingChannel, server,
                                                       serverChannel}) {
            each.close();
        }
    }

    static void files(String kind, boolean isVirtual, List<String> answers) throws Exception {
        pipe = Pipe.open();
        answers.add(io(kind + "read-pipe", isVirtual, WaitReasons::readPipe,
                       later(() -> pipe.sink().write(ByteBuffer.allocate(1)))));
        pipe.source().close();
        pipe.sink().close();
        selector = Selector.open();
        answers.add(io(kind + "select", isVirtual, WaitReasons::select, later(() -> selector.wakeup())));
        answers.add(io(kind + "select-timed", isVirtual, WaitReasons::selectTimed, WaitReasons::nobody));
        selector.close();
        selector = pollSelector();
        answers.add(io(kind + "poll-select", isVirtual, WaitReasons::select, later(() -> selector.wakeup())));
        selector.close();

        Thread opener = Starts.start("opener", false, () -> fifo = new FileInputStream(fifoPath));
        FileOutputStream out = new FileOutputStream(fifoPath);
        opener.join();
        answers.add(io(kind + "read-fifo", isVirtual, WaitReasons::readFifo, later(() -> out.write(1))));
        out.close();
        fifo.close();
    }

    /** The selector of the JDK for systems without epoll. */
    static Selector pollSelector() throws Exception {
        Class<?> provider = Class.forName("sun.nio.ch.PollSelectorProvider");
        return ((SelectorProvider) provider.getConstructor().newInstance()).openSelector();
    }

    // ---- what waits for a disk or a process, as long as it takes; another thread has written before ----

    /** Sleeps between: who spins and gets no processor may be taken to wait for one all the time. */
    static Waiting once(Starts.Work work) {
        return meter -> {
            for (int i = 1; i <= times; i++) {
                while (told < i) {
                    Thread.sleep(1);
                }
                long since = offCpu();
                work.run();
                meter.add(since);
                turn = i;
            }
        };
    }

    static void disk(String kind, boolean isVirtual, List<String> answers) throws Exception {
        byte[] bytes = new byte[DISK_BYTES];
        try (RandomAccessFile file = new RandomAccessFile(fifoPath + "-disk", "rw")) {
            answers.add(one(kind + "disk-sync", "io", isVirtual, once(() -> file.getFD().sync()),
                            giving(() -> file.write(bytes), WaitReasons::nobody)));
            MappedByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, DISK_BYTES);
            answers.add(one(kind + "disk-force", "io", isVirtual, once(mapped::force), giving(() -> {
                for (int at = 0; at < DISK_BYTES; at += 4096) {
                    mapped.put(at, (byte) (mapped.get(at) + 1));
                }
            }, WaitReasons::nobody)));
        }
    }

    static void starts(String kind, List<String> answers) throws Exception {
        answers.add(one(kind + "start-process", "io", false, once(() -> new ProcessBuilder("true").start()),
                        giving(WaitReasons::nobody, WaitReasons::nobody)));
    }

    /** A thread of the JDK waits for each process: shorter than from before the start, longer than from after it. */
    static String processes(int number) throws Exception {
        Meter most = new Meter();
        Meter least = new Meter();
        for (int i = 1; i <= TIMES; i++) {
            long before = System.nanoTime();
            Process process = new ProcessBuilder("sleep", "0.1").start();
            long after = System.nanoTime();
            process.waitFor();
            long now = System.nanoTime();
            least.addUntil(now, after);
            most.addUntil(now, before);
        }
        return least.told("least-" + number, "io") + "; " + most.told("most-" + number, "io");
    }

    static String round(int number) throws Exception {
        List<String> answers = new ArrayList<>();
        for (boolean isVirtual : hasVirtualThreads() ? new boolean[] {false, true} : new boolean[] {false}) {
            String kind = (isVirtual ? "virtual-" : "platform-") + number + "-";
            answers.add(one(kind + "enter", "monitor", isVirtual, WaitReasons::enter, WaitReasons::own));
            answers.add(one(kind + "timed", "object_wait", isVirtual, WaitReasons::waitTimed, WaitReasons::nobody));
            answers.add(one(kind + "notified", "object_wait", isVirtual, WaitReasons::waitNotified,
                            WaitReasons::notifyIt));
            answers.add(one(kind + "nanos", "park", isVirtual, WaitReasons::parkTimed, WaitReasons::nobody));
            answers.add(one(kind + "unparked", "park", isVirtual, WaitReasons::parkUntilTold, WaitReasons::unpark));
            answers.add(one(kind + "lock", "park", isVirtual, WaitReasons::lock, WaitReasons::ownLock));
            answers.add(one(kind + "sleeper", "sleep", isVirtual, WaitReasons::sleep, WaitReasons::nobody));
            answers.add(one(kind + "interrupted", "sleep", isVirtual, WaitReasons::sleepInterrupted,
                            WaitReasons::interrupt));
            answers.add(inTurn(kind + "mixed", isVirtual));
            synchronizers(kind, isVirtual, answers);
            files(kind, isVirtual, answers);
            sockets(kind, isVirtual, answers);
            disk(kind, isVirtual, answers);
        }
        starts("platform-" + number + "-", answers);
        answers.add(processes(number));
        return String.join("; ", answers);
    }

    /** Loads the classes, which takes longer than a wait may differ. */
    static void warmUp() throws Exception {
        times = 1;
        for (boolean isVirtual : hasVirtualThreads() ? new boolean[] {false, true} : new boolean[] {false}) {
            synchronizers("first-", isVirtual, new ArrayList<>());
            files("first-", isVirtual, new ArrayList<>());
            sockets("first-", isVirtual, new ArrayList<>());
            disk("first-", isVirtual, new ArrayList<>());
        }
        starts("first-", new ArrayList<>());
        times = IO_TIMES;
    }

    // ---- from the beginning to the end ----

    static Pipe quietPipe;

    static void readLong() throws Exception {
        quietPipe.source().read(ByteBuffer.allocate(1));
    }

    static void waitLong() throws InterruptedException {
        synchronized (QUIET) {
            while (!over) {
                QUIET.wait();
            }
        }
    }

    static void parkLong() {
        while (!over) {
            LockSupport.park();
        }
    }

    static void sleepLong() {
        try {
            Thread.sleep(3_600_000);
        } catch (InterruptedException e) {
            over = true;
        }
    }

    static void enterLong() {
        synchronized (KEPT) {
            over = true;
        }
    }

    public static void main(String[] args) throws Exception {
        fifoPath = args[0];
        quietPipe = Pipe.open();
        Starts.start("long-wait", false, WaitReasons::waitLong);
        Starts.start("long-io", false, WaitReasons::readLong);
        Thread park = Starts.start("long-park", false, WaitReasons::parkLong);
        Thread sleep = Starts.start("long-sleep", false, WaitReasons::sleepLong);
        synchronized (KEPT) {
            Starts.start("long-monitor", false, WaitReasons::enterLong);
            Thread.sleep(500);
            warmUp();
            System.out.println("ready");
            int rounds = 0;
            for (Scanner in = new Scanner(System.in); in.hasNext(); in.next()) {
                System.out.println(round(++rounds));
            }
            over = true;
        }
        synchronized (QUIET) {
            QUIET.notifyAll();
        }
        LockSupport.unpark(park);
        sleep.interrupt();
        quietPipe.sink().close();
    }
}
