import java.util.Scanner;

/** A thread that sleeps until `interrupt` is said, and tells then that the exception reached it. */
public class Interrupted {
    public static void main(String[] args) throws InterruptedException {
        String[] seen = {""};
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException e) {
                seen[0] = "interrupted";
            }
        }, "sleeper");
        sleeper.start();
        System.out.println("ready");
        new Scanner(System.in).nextLine();
        sleeper.interrupt();
        sleeper.join();
        System.out.println(seen[0]);
    }
}
