/** A call tree 400,000 levels deep. */
public class DeepTree {
    static int down(int n) {
        return n == 1 ? 1 : 1 + down(n - 1);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread deep = new Thread(null, () -> System.out.println(down(400_000)), "deep", 1L << 30);
        deep.start();
        deep.join();
    }
}
