import java.util.concurrent.locks.ReentrantReadWriteLock;

/** A thread waits for the write lock of a fair lock that another one reads. */
public class FairReader {
    public static void main(String[] args) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
        lock.readLock().lock();
        Thread writer = new Thread(() -> {
            lock.writeLock().lock();
            lock.writeLock().unlock();
        });
        writer.start();
        while (writer.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        lock.readLock().unlock();
        writer.join();
        System.out.println("written");
    }
}
