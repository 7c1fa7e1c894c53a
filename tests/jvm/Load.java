import java.util.ArrayList;
import java.util.List;

/** Two threads that work until standard input ends; then they say whether their results are right. */
public class Load extends Thread {
    static volatile boolean over;
    long steps;
    long sum;

    Load(int number) {
        super("load-" + number);
    }

    void step() {
        steps++;
        sum += leaf(steps);
    }

    static long leaf(long n) {
        return 2 * n;
    }

    @Override
    public void run() {
        while (!over) {
            step();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Load> all = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            all.add(new Load(i));
            all.get(i).start();
        }
        System.out.println("ready");
        while (System.in.read() != -1) {
            continue;
        }
        over = true;
        long steps = 0;
        for (Load load : all) {
            load.join();
            steps += load.steps;
            System.out.println(load.sum == load.steps * (load.steps + 1) ? "right" : "wrong");
        }
        System.out.println("expect total Load.step " + steps);
    }
}
