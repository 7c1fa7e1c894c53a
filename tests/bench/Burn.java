import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * So many threads that do the same work, for so many rounds: sorting, hashing, strings, some thirty frames
 * deep. Prints how long they took, in milliseconds, after a round that is not counted.
 */
public class Burn implements Runnable {
    static final int DEPTH = 25;
    static volatile long sink;

    final int rounds;

    Burn(int rounds) {
        this.rounds = rounds;
    }

    static long work(long seed) {
        int[] numbers = new int[400];
        long x = seed;
        for (int i = 0; i < numbers.length; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            numbers[i] = (int) (x >>> 33);
        }
        Arrays.sort(numbers);
        Map<String, Integer> count = new HashMap<>();
        for (int number : numbers) {
            count.merge(Integer.toHexString(number & 0xff), 1, Integer::sum);
        }
        return count.size() + numbers[0];
    }

    static long descend(int depth, long seed) {
        return depth == 0 ? work(seed) : descend(depth - 1, seed + depth) + 1;
    }

    @Override
    public void run() {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += descend(DEPTH, i);
        }
        sink = sum;
    }

    static long millis(int threads, int rounds) throws InterruptedException {
        Thread[] all = new Thread[threads];
        long start = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(new Burn(rounds));
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        return (System.nanoTime() - start) / 1_000_000;
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]);
        int rounds = Integer.parseInt(args[1]);
        millis(threads, rounds / 4);
        System.out.println(millis(threads, rounds));
    }
}
