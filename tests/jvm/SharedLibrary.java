/**
 * A program that uses another one as its library: it runs Crowd until the end of standard input, then calls a method of
 * its own, in a class that is loaded then.
 */
public class SharedLibrary {
    static class Own {
        static int act(int n) {
            int product = 1;
            for (int i = 1; i <= n; i++) {
                product *= i;
            }
            return product;
        }
    }

    public static void main(String[] args) throws Exception {
        Crowd.main(args);
        System.out.println("own " + Own.act(args.length));
    }
}
