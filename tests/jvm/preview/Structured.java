/*
 * Structured concurrency: scopes whose subtasks all succeed, one inside another; one that a failure ends, and one
 * that the first success ends: then those that sleep are interrupted. Every subtask is on a virtual thread of its
 * own, whose parent is the thread that forked it, and sees the scoped value of its scope.
 *
 * Expected:
 *   thread main
 *     1 Structured.<clinit>
 *     1 Structured.main
 *       1 Structured.all
 *         1 Structured.sumOfTwice
 *           1 Structured.named
 *         1 Structured.named
 *       1 Structured.fails
 *         1 Structured.named
 *         1 Structured.noted
 *       1 Structured.any
 *         1 Structured.named
 *   virtual all-{0..9} from main
 *     1 Structured.twice
 *       2 Structured.nap
 *       1 Structured.seen
 *   virtual outer-{0..2} from main
 *     1 Structured.outer
 *       1 Structured.seen
 *       1 Structured.sumOfTwice
 *         1 Structured.named
 *   virtual inner-0-{0..3} from outer-0
 *     1 Structured.twice
 *       2 Structured.nap
 *       1 Structured.seen
 *   virtual inner-1-{0..3} from outer-1
 *     1 Structured.twice
 *       2 Structured.nap
 *       1 Structured.seen
 *   virtual inner-2-{0..3} from outer-2
 *     1 Structured.twice
 *       2 Structured.nap
 *       1 Structured.seen
 *   virtual fails-{0..4} from main
 *     1 Structured.sleeps
 *       1 Structured.noted
 *   virtual fails-5 from main
 *     1 Structured.failing
 *       1 Structured.down * 3
 *         1 Structured.nap
 *   virtual any-{0..2} from main
 *     1 Structured.sleeps
 *       1 Structured.noted
 *   virtual any-3 from main
 *     1 Structured.succeeds
 *       1 Structured.nap
 *   total Structured.seen 25
 *   total Structured.noted 9
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.StructuredTaskScope;
import java.util.concurrent.StructuredTaskScope.Joiner;
import java.util.concurrent.StructuredTaskScope.Subtask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

public class Structured {
    static final ScopedValue<String> USER = ScopedValue.newInstance();
    static final AtomicInteger SEEN = new AtomicInteger();
    static final AtomicInteger NOTED = new AtomicInteger();

    static ThreadFactory named(String prefix) {
        return Thread.ofVirtual().name(prefix, 0).factory();
    }

    static void nap() throws InterruptedException {
        Thread.sleep(1);
    }

    static void seen() {
        if (USER.get().equals("user")) {
            SEEN.incrementAndGet();
        }
    }

    static void noted() {
        NOTED.incrementAndGet();
    }

    static int twice(int n) throws InterruptedException {
        nap();
        nap();
        seen();
        return 2 * n;
    }

    static int sumOfTwice(String prefix, int count) throws InterruptedException {
        try (var scope = StructuredTaskScope.open(Joiner.<Integer>awaitAllSuccessfulOrThrow(),
                                                  config -> config.withThreadFactory(named(prefix)))) {
            List<Subtask<Integer>> subtasks = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int n = i;
                subtasks.add(scope.fork(() -> twice(n)));
            }
            scope.join();
            return subtasks.stream().mapToInt(Subtask::get).sum();
        }
    }

    static int outer(int n) throws InterruptedException {
        seen();
        return sumOfTwice("inner-" + n + "-", 4);
    }

    static void all() throws InterruptedException {
        int sum = sumOfTwice("all-", 10);
        try (var scope = StructuredTaskScope.open(Joiner.<Integer>allSuccessfulOrThrow(),
                                                  config -> config.withThreadFactory(named("outer-")))) {
            for (int i = 0; i < 3; i++) {
                int n = i;
                scope.fork(() -> outer(n));
            }
            sum += scope.join().mapToInt(Subtask::get).sum();
        }
        System.out.println("all " + sum);
    }

    static int sleeps(CountDownLatch asleep) throws InterruptedException {
        try {
            asleep.countDown();
            Thread.sleep(1_000_000);
            return 0;
        } catch (InterruptedException e) {
            noted();
            throw e;
        }
    }

    static void down(int n) throws InterruptedException {
        if (n > 1) {
            down(n - 1);
        } else {
            nap();
            throw new IllegalStateException("failed");
        }
    }

    static int failing(CountDownLatch asleep) throws InterruptedException {
        asleep.await();
        down(3);
        return 0;
    }

    static void fails() throws InterruptedException {
        CountDownLatch asleep = new CountDownLatch(5);
        try (var scope = StructuredTaskScope.open(Joiner.<Integer>allSuccessfulOrThrow(),
                                                  config -> config.withThreadFactory(named("fails-")))) {
            for (int i = 0; i < 5; i++) {
                scope.fork(() -> sleeps(asleep));
            }
            scope.fork(() -> failing(asleep));
            scope.join();
        } catch (StructuredTaskScope.FailedException e) {
            noted();
            System.out.println("fails " + e.getCause().getMessage());
        }
    }

    static int succeeds(CountDownLatch asleep) throws InterruptedException {
        asleep.await();
        nap();
        return 7;
    }

    static void any() throws InterruptedException {
        CountDownLatch asleep = new CountDownLatch(3);
        try (var scope = StructuredTaskScope.open(Joiner.<Integer>anySuccessfulResultOrThrow(),
                                                  config -> config.withThreadFactory(named("any-")))) {
            for (int i = 0; i < 3; i++) {
                scope.fork(() -> sleeps(asleep));
            }
            scope.fork(() -> succeeds(asleep));
            System.out.println("any " + scope.join());
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ScopedValue.where(USER, "user").call(() -> {
            all();
            fails();
            any();
            return 0;
        });
        System.out.println(SEEN + " " + NOTED);
    }
}
