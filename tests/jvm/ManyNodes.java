/** 8^5 different call paths: the digits of a number, to base 8, say which method calls which. As often as its argument says, or once. */
public class ManyNodes {
    static final int DEPTH = 5;
    static final int PATHS = 1 << (3 * DEPTH);
    static int checksum;

    static void next(int path, int depth) {
        if (depth == 0) {
            checksum = 31 * checksum + 1;
            return;
        }
        switch (path & 7) {
            case 0: m0(path >> 3, depth - 1); break;
            case 1: m1(path >> 3, depth - 1); break;
            case 2: m2(path >> 3, depth - 1); break;
            case 3: m3(path >> 3, depth - 1); break;
            case 4: m4(path >> 3, depth - 1); break;
            case 5: m5(path >> 3, depth - 1); break;
            case 6: m6(path >> 3, depth - 1); break;
            default: m7(path >> 3, depth - 1); break;
        }
    }

    static void m0(int path, int depth) {
        next(path, depth);
    }

    static void m1(int path, int depth) {
        next(path, depth);
    }

    static void m2(int path, int depth) {
        next(path, depth);
    }

    static void m3(int path, int depth) {
        next(path, depth);
    }

    static void m4(int path, int depth) {
        next(path, depth);
    }

    static void m5(int path, int depth) {
        next(path, depth);
    }

    static void m6(int path, int depth) {
        next(path, depth);
    }

    static void m7(int path, int depth) {
        next(path, depth);
    }

    public static void main(String[] args) {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        for (int path = 0; path < PATHS * rounds; path++) {
            next(path % PATHS, DEPTH);
        }
        System.out.println(checksum);
        // main, and for each path DEPTH + 1 times next() and DEPTH times one of the others.
        System.out.println("expect calls ManyNodes " + (1 + rounds * PATHS * (2 * DEPTH + 1)));
    }
}
