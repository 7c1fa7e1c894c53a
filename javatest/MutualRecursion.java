/*
 * Two methods that call each other: even(4), odd(3) and even(2), each down to even(0).
 *
 * Expected:
 *   thread main
 *     1 MutualRecursion.main
 *       2 MutualRecursion.even
 *         2 MutualRecursion.odd
 *           2 MutualRecursion.even
 *             1 MutualRecursion.odd
 *               1 MutualRecursion.even
 *       1 MutualRecursion.odd
 *         1 MutualRecursion.even
 *           1 MutualRecursion.odd
 *             1 MutualRecursion.even
 *   total MutualRecursion.even 7
 *   total MutualRecursion.odd 5
 */
public class MutualRecursion {
    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    public static void main(String[] args) {
        System.out.println(even(4) + " " + odd(3) + " " + even(2));
    }
}
