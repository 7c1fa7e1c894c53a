/*
 * Thread names from hell: escape sequences, newlines, quotes, markup, characters outside the basic
 * plane, half a surrogate pair, NUL, nothing at all, 10,000 characters. JSON must give each back as it
 * is; half a pair may come out as U+FFFD.
 *
 * Expected:
 *   thread main
 *     1 HostileNames.<clinit>
 *     1 HostileNames.main
 *       15 HostileNames.<init>
 *   thread "\u001b[31mred\u001b[0m\u001b]0;title\u0007" from main
 *     1 HostileNames.run
 *       1 HostileNames.step
 *   thread "two\nlines\r\n\tand a tab" from main
 *     1 HostileNames.run
 *       2 HostileNames.step
 *   thread "\"quoted\" 'twice' `so` \\ back\\n" from main
 *     1 HostileNames.run
 *       3 HostileNames.step
 *   thread "</script><script>alert(1)</script>&amp;<!--" from main
 *     1 HostileNames.run
 *       4 HostileNames.step
 *   thread "\ud83e\uddf5 thread \ud834\udd1e \u00e9\u0301 \u4e2d" from main
 *     1 HostileNames.run
 *       5 HostileNames.step
 *   thread "nul\u0000inside" from main
 *     1 HostileNames.run
 *       6 HostileNames.step
 *   thread "" from main
 *     1 HostileNames.run
 *       7 HostileNames.step
 *   thread " " from main
 *     1 HostileNames.run
 *       8 HostileNames.step
 *   thread "x,y;z=\"w\"" from main
 *     1 HostileNames.run
 *       9 HostileNames.step
 *   thread "=cmd|'/c calc'!A1" from main
 *     1 HostileNames.run
 *       10 HostileNames.step
 *   thread "%s%n%d %p" from main
 *     1 HostileNames.run
 *       11 HostileNames.step
 *   thread "\u202eright to left\u0085\u2028" from main
 *     1 HostileNames.run
 *       12 HostileNames.step
 *   thread "half \ufffd a pair" from main
 *     1 HostileNames.run
 *       13 HostileNames.step
 *   thread "../../etc/passwd" from main
 *     1 HostileNames.run
 *       14 HostileNames.step
 *   threads 1 "0123456789*" from main
 *     1 HostileNames.run
 *       15 HostileNames.step
 */
public class HostileNames implements Runnable {
    static final String[] NAMES = {
        "\u001b[31mred\u001b[0m\u001b]0;title\u0007",
        "two\nlines\r\n\tand a tab",
        "\"quoted\" 'twice' `so` \\ back\\n",
        "</script><script>alert(1)</script>&amp;<!--",
        "\ud83e\uddf5 thread \ud834\udd1e \u00e9\u0301 \u4e2d",
        "nul\u0000inside",
        "",
        " ",
        "x,y;z=\"w\"",
        "=cmd|'/c calc'!A1",
        "%s%n%d %p",
        "\u202eright to left\u0085\u2028",
        "half \ud800 a pair",
        "../../etc/passwd",
        "0123456789".repeat(1000),
    };
    final int steps;

    HostileNames(int steps) {
        this.steps = steps;
    }

    static void step() {
    }

    @Override
    public void run() {
        for (int i = 0; i < steps; i++) {
            step();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < NAMES.length; i++) {
            Thread thread = new Thread(new HostileNames(i + 1), NAMES[i]);
            thread.start();
            thread.join();
        }
        System.out.println("done");
    }
}
