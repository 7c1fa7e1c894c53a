/*
 * Who started whom: main starts A, A starts B, B starts C. D is made by main, but A starts it.
 *
 * Expected:
 *   thread main
 *     1 Parents.main
 *       2 Parents.<init>
 *       1 Parents.leaf
 *   thread A from main
 *     1 Parents.run
 *       1 Parents.<init>
 *   thread B from A
 *     1 Parents.run
 *       1 Parents.<init>
 *   thread C from B
 *     1 Parents.run
 *       1 Parents.leaf
 *   thread D from A
 *     1 Parents.run
 *       1 Parents.leaf
 */
public class Parents implements Runnable {
    static Thread d;

    static int leaf() {
        return 1;
    }

    @Override
    public void run() {
        try {
            switch (Thread.currentThread().getName()) {
                case "A":
                    Thread b = new Thread(new Parents(), "B");
                    b.start();
                    b.join();
                    d.start();
                    d.join();
                    break;
                case "B":
                    Thread c = new Thread(new Parents(), "C");
                    c.start();
                    c.join();
                    break;
                default:
                    leaf();
                    break;
            }
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        d = new Thread(new Parents(), "D");
        Thread a = new Thread(new Parents(), "A");
        a.start();
        a.join();
        System.out.println(leaf());
    }
}
