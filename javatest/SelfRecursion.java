/*
 * A method that calls itself twice: fib(15). At depth d there are, for each k, (d over k) calls whose
 * argument is 15 - d - k, as long as every argument above was at least 2; together 2 * 987 - 1.
 *
 * Expected:
 *   thread main
 *     1 SelfRecursion.main
 *       1 SelfRecursion.fib
 *         2 SelfRecursion.fib
 *           4 SelfRecursion.fib
 *             8 SelfRecursion.fib
 *               16 SelfRecursion.fib
 *                 32 SelfRecursion.fib
 *                   64 SelfRecursion.fib
 *                     128 SelfRecursion.fib
 *                       254 SelfRecursion.fib
 *                         438 SelfRecursion.fib
 *                           512 SelfRecursion.fib
 *                             352 SelfRecursion.fib
 *                               134 SelfRecursion.fib
 *                                 26 SelfRecursion.fib
 *                                   2 SelfRecursion.fib
 *   total SelfRecursion.fib 1973
 */
public class SelfRecursion {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        System.out.println(fib(15));
    }
}
