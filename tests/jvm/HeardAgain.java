import java.util.Scanner;

/**
 * `burst N` calls a method N times at once; `slow N` calls it N times, ten times a second, beside
 * other work. The answer is how often that was so far.
 */
public class HeardAgain {
    static long visits;
    static volatile long result;

    static void visit() {
        visits++;
        result += visits;
    }

    static void add() {
        result += 3;
    }

    static void subtract() {
        result -= 2;
    }

    static void burst(int calls) {
        for (int i = 0; i < calls; i++) {
            visit();
        }
    }

    /* A tenth of a second, a part of which is work. */
    static void round() throws InterruptedException {
        long until = System.nanoTime() + 30_000_000;
        visit();
        add();
        subtract();
        while (System.nanoTime() < until) {
            result++;
        }
        Thread.sleep(70);
    }

    static void slow(int rounds) throws InterruptedException {
        for (int i = 0; i < rounds; i++) {
            round();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Scanner lines = new Scanner(System.in);
        System.out.println("ready");
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            if (words[0].equals("burst")) {
                burst(Integer.parseInt(words[1]));
            } else {
                slow(Integer.parseInt(words[1]));
            }
            System.out.println(visits);
        }
    }
}
