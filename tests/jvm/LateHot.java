/** Calls on more paths than there is room for, and then, again and again, on few: those are hot, and come late. So does a thread. */
public class LateHot {
    static final int HOT_EACH = 8; // so many cold paths come between two of the hot one
    static int sum;

    static void hot1() {
        hot2();
    }

    static void hot2() {
        hot3();
    }

    static void hot3() {
        for (int i = 0; i < 500; i++) {
            sum = sum * 31 + i;
        }
    }

    static void late1() {
        late2();
    }

    static void late2() {
        for (int i = 0; i < 500; i++) {
            sum = sum * 31 + i;
        }
    }

    static void runLate(int times) {
        for (int i = 0; i < times; i++) {
            late1();
        }
    }

    static void walk(int paths, boolean withHot) {
        for (int path = 0; path < paths; path++) {
            ManyNodes.next(path % ManyNodes.PATHS, ManyNodes.DEPTH);
            if (withHot && path % HOT_EACH == 0) {
                hot1();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        walk(ManyNodes.PATHS, false);
        for (int round = 0; round < rounds; round++) {
            walk(ManyNodes.PATHS, true);
            System.out.println("rounds " + (round + 1));
        }
        Thread late = new Thread(() -> runLate(1000), "late");
        late.start();
        late.join();
    }
}
