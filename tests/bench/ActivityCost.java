import treadle.Activity;

/**
 * What a push and a pop of a logical frame cost: rounds of loops around the same small piece of work, which take turns,
 * each form beside no call and beside a call of a method that has hooks. A line a round: nanoseconds a turn.
 */
@SuppressWarnings("try")
public class ActivityCost {
    static final int REGISTERED = Activity.register("registered");
    static long state = 1;

    static long work(long x) {
        x ^= x << 13;
        x ^= x >>> 7;
        return x ^ x << 17;
    }

    static long hookedWork(long x) { // the only method with hooks
        return work(x);
    }

    static long none(long x, int turns) {
        for (int i = 0; i < turns; i++)
            x = work(x);
        return x;
    }

    static long hooked(long x, int turns) {
        for (int i = 0; i < turns; i++)
            x = hookedWork(x);
        return x;
    }

    static long registered(long x, int turns) {
        for (int i = 0; i < turns; i++) {
            long token = Activity.enter(REGISTERED);
            try {
                x = work(x);
            } finally {
                Activity.leave(token);
            }
        }
        return x;
    }

    static long pushed(long x, int turns) {
        for (int i = 0; i < turns; i++)
            try (var activity = Activity.push("pushed")) {
                x = work(x);
            }
        return x;
    }

    static long withParameter(long x, int turns) {
        for (int i = 0; i < turns; i++)
            try (var activity = Activity.push("pushed", "parameter")) {
                x = work(x);
            }
        return x;
    }

    static long withId(long x, int turns) {
        for (int i = 0; i < turns; i++)
            try (var activity = Activity.begin("begun")) {
                x = work(x);
            }
        return x;
    }

    interface Loop {
        long run(long x, int turns);
    }

    static double time(Loop loop, int turns) {
        long begin = System.nanoTime();
        state = loop.run(state, turns);
        return (double) (System.nanoTime() - begin) / turns;
    }

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]), turns = Integer.parseInt(arguments[1]);
        Loop[] loops = {ActivityCost::none, ActivityCost::hooked, ActivityCost::registered, ActivityCost::pushed,
            ActivityCost::withParameter, ActivityCost::withId};
        for (int round = -3; round < rounds; round++) { // the first ones are for the compilers
            StringBuilder line = new StringBuilder();
            for (Loop loop : loops)
                line.append(String.format(java.util.Locale.ROOT, "%.3f ", time(loop, loop == loops[5] ? turns / 10 : turns)));
            if (round >= 0)
                System.out.println(line.toString().trim());
        }
        if (state == 0)
            System.out.println();
    }
}
