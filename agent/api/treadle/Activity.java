package treadle;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MutableCallSite;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A logical frame: what the program says that the current thread is doing.
 *
 * <p>With Treadle's agent in the process, an open logical frame is a node of the thread's call tree: CPU time, waits,
 * faults, I/O and samples hang below it as below any call, and {@code treadle report --view activity} shows the
 * logical frames alone. Without the agent, or while profiling is stopped, everything here does nothing, and the JIT
 * compiler removes it; an agent that is attached later switches it on.
 *
 * <pre>{@code
 * try (var activity = Activity.push("sort")) { … }
 * try (var activity = Activity.push("scan", table)) { … }
 *
 * private static final int SORT = Activity.register("sort");   // for hot paths: no object, no lookup
 * long token = Activity.enter(SORT);
 * try { … } finally { Activity.leave(token); }
 * }</pre>
 *
 * <p>A frame may have an id, which makes it a part of a chain: of everything, in any thread of any process, that has
 * the same id. {@link #begin} begins a chain; {@link #id} gives the id to send along; {@link #adopt} goes on with it
 * on the other side. {@code treadle report --view chains} joins what the chain cost.
 *
 * <pre>{@code
 * try (var activity = Activity.begin("request")) { send(activity.id()); … }
 * try (var activity = Activity.adopt(received, "serve")) { … }        // in another thread or process
 * }</pre>
 *
 * <p>Frames belong to the thread that pushed them, platform or virtual; a virtual thread keeps its frames on whatever
 * carrier it runs. Another thread gets them by an explicit hand-over, see {@link #capture}. A frame must be popped by
 * the thread that pushed it: {@link #close} on another thread does nothing. A frame that is not popped ends with
 * the next frame outside it that is popped, or with the recorded method that pushed it; frames that are popped in
 * another order end with the outermost of them. Such pops are counted (unmatched exits in the report's balance).
 *
 * <p>The number of different frames is bounded: of {@value #PARAMETERS_MAX} pairs of an identifier and a parameter, and
 * {@value #FRAMES_MAX} frames in all; what goes beyond has the parameter, or the identifier, {@code (other)}, and
 * is counted. Texts are cut after {@value #TEXT_MAX} characters. Nothing here throws an exception of its own.
 */
public final class Activity implements AutoCloseable {
    private static final int FRAMES_MAX = 4000;
    private static final int PARAMETERS_MAX = 1000;
    private static final int TEXT_MAX = 120;
    private static final String OTHER = "(other)";

    private static final long NO_TOKEN = -1;
    private static final int NO_SLOT = -1;

    /** What stands for an overflow, as the agent has it. */
    private static final int AS_IT_IS = 0, OTHER_PARAMETER = 1, OTHER_IDENTIFIER = 2;

    /** Folded to a constant by the compilers; compiled code goes when the agent changes it. */
    private static final MutableCallSite SWITCH = new MutableCallSite(MethodHandles.constant(boolean.class, false));
    private static final MethodHandle IS_ON = SWITCH.dynamicInvoker();

    private static final Activity NONE = new Activity(NO_TOKEN, null);

    private final Thread owner;
    private long token;
    private final long high; // the id, 0 and 0: none
    private final long low;

    static {
        announce();
    }

    private Activity(long token, Thread owner) {
        this(token, owner, 0, 0);
    }

    private Activity(long token, Thread owner, long high, long low) {
        this.owner = owner;
        this.token = token;
        this.high = high;
        this.low = low;
    }

    /**
     * Pushes a logical frame; {@link #close} pops it.
     *
     * @param identifier what the thread does, one of a few
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity push(String identifier) {
        return isOn() ? pushed(Frames.find(identifier, null)) : NONE;
    }

    /**
     * Pushes a logical frame with a parameter.
     *
     * @param identifier what the thread does, one of a few
     * @param parameter what it does that with, one of a few hundred; or null
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity push(String identifier, String parameter) {
        return isOn() ? pushed(Frames.find(identifier, parameter)) : NONE;
    }

    /**
     * Pushes a logical frame that begins a chain: it has a new id.
     *
     * @param identifier what the thread does, one of a few
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity begin(String identifier) {
        return isOn() ? adopted(Ids.make(), Frames.find(identifier, null)) : NONE;
    }

    /**
     * Pushes a logical frame with a parameter that begins a chain: it has a new id.
     *
     * @param identifier what the thread does, one of a few
     * @param parameter what it does that with, one of a few hundred; or null
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity begin(String identifier, String parameter) {
        return isOn() ? adopted(Ids.make(), Frames.find(identifier, parameter)) : NONE;
    }

    /**
     * Pushes a logical frame that is a part of the chain with that id. While a part of the same chain is open on the
     * thread, the frame is within that part and is no part of its own.
     *
     * @param id what {@link #id} has returned in another thread or process, or the trace id of another system: 32
     *     hexadecimal digits, not all 0. With anything else, or null, the frame has no id
     * @param identifier what the thread does, one of a few
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity adopt(String id, String identifier) {
        return isOn() ? adopted(Ids.parse(id), Frames.find(identifier, null)) : NONE;
    }

    /**
     * Pushes a logical frame with a parameter that is a part of the chain with that id.
     *
     * @param id as in {@link #adopt(String, String)}
     * @param identifier what the thread does, one of a few
     * @param parameter what it does that with, one of a few hundred; or null
     * @return the open frame, for a try-with-resources statement
     */
    public static Activity adopt(String id, String identifier, String parameter) {
        return isOn() ? adopted(Ids.parse(id), Frames.find(identifier, parameter)) : NONE;
    }

    /**
     * The frame's id, to be sent along.
     *
     * @return 32 hexadecimal digits. Of a frame without an id of its own: {@link #currentId}. Null without the agent,
     *     and while profiling is stopped
     */
    public String id() {
        if (!isOn())
            return null;
        return (high | low) != 0 ? Ids.text(high, low) : currentId();
    }

    /**
     * The id of the innermost frame open on this thread that has one.
     *
     * @return 32 hexadecimal digits; null: no frame has an id, or there is no agent
     */
    public static String currentId() {
        long[] part = isOn() ? Ids.part() : null;
        return part == null ? null : Ids.text(part[0], part[1]);
    }

    /** Pops the frame. A second call does nothing, nor does a call on another thread. */
    @Override
    public void close() {
        if (this == NONE || !isOn())
            return;
        long open = token;
        if (open == NO_TOKEN || owner != Thread.currentThread())
            return;
        token = NO_TOKEN;
        if ((high | low) != 0)
            popPart0(open);
        else
            pop0(open);
    }

    /**
     * Makes a frame known, for {@link #enter}. To be called once, as a rule from a static initialiser.
     *
     * @param identifier what a thread does
     * @return the frame's number in this process
     */
    public static int register(String identifier) {
        return Frames.find(identifier, null);
    }

    /**
     * Makes a frame with a parameter known, for {@link #enter}.
     *
     * @param identifier what a thread does
     * @param parameter what it does that with; or null
     * @return the frame's number in this process
     */
    public static int register(String identifier, String parameter) {
        return Frames.find(identifier, parameter);
    }

    /**
     * Pushes a registered frame, without an object.
     *
     * @param frame what {@link #register} has returned
     * @return a token for {@link #leave}, which the same thread must call
     */
    public static long enter(int frame) {
        return isOn() ? open(frame) : NO_TOKEN;
    }

    /**
     * Pops the frame that {@link #enter} has pushed on this thread.
     *
     * @param token what it has returned
     */
    public static void leave(long token) {
        if (isOn() && token != NO_TOKEN)
            pop0(token);
    }

    /**
     * The logical frames that are open on this thread, for another thread, with the id of the innermost one that has
     * one: for tasks of executors and stages of a
     * {@link java.util.concurrent.CompletableFuture}.
     *
     * <pre>{@code
     * var activity = Activity.capture();
     * executor.execute(() -> activity.run(this::sortPart));
     * future.thenApplyAsync(activity.wrapFunction(this::parse));
     * }</pre>
     *
     * @return the frames, which may be used any number of times, by any thread
     */
    public static Captured capture() {
        if (!isOn())
            return Captured.NONE;
        int[] slots = stack0();
        return slots == null || slots.length == 0 ? Captured.NONE : new Captured(slots, Ids.part());
    }

    /** Captured logical frames. See {@link Activity#capture}. */
    public static final class Captured {
        private static final Captured NONE = new Captured(new int[0], null);

        private final int[] slots;
        private final long[] part; // of the innermost frame with an id: the id and the frame's depth; or null

        private Captured(int[] slots, long[] part) {
            this.slots = slots;
            this.part = part;
        }

        /**
         * Runs a task in the captured frames.
         *
         * @param task the task
         */
        public void run(Runnable task) {
            long[] tokens = pushAll();
            try {
                task.run();
            } finally {
                popAll(tokens);
            }
        }

        /**
         * Calls a task in the captured frames.
         *
         * @param <T> the type of its result
         * @param task the task
         * @return its result
         * @throws Exception what the task throws
         */
        public <T> T call(Callable<T> task) throws Exception {
            long[] tokens = pushAll();
            try {
                return task.call();
            } finally {
                popAll(tokens);
            }
        }

        /**
         * A task that will run in the captured frames.
         *
         * @param task the task
         * @return the wrapped task
         */
        public Runnable wrap(Runnable task) {
            return () -> run(task);
        }

        /**
         * A task with a result that will run in the captured frames.
         *
         * @param <T> the type of its result
         * @param task the task
         * @return the wrapped task
         */
        public <T> Callable<T> wrapCallable(Callable<T> task) {
            return () -> call(task);
        }

        /**
         * A supplier that will run in the captured frames.
         *
         * @param <T> the type of its result
         * @param supplier the supplier
         * @return the wrapped supplier
         */
        public <T> Supplier<T> wrapSupplier(Supplier<T> supplier) {
            return () -> {
                long[] tokens = pushAll();
                try {
                    return supplier.get();
                } finally {
                    popAll(tokens);
                }
            };
        }

        /**
         * A function that will run in the captured frames.
         *
         * @param <T> the type of its argument
         * @param <R> the type of its result
         * @param function the function
         * @return the wrapped function
         */
        public <T, R> Function<T, R> wrapFunction(Function<T, R> function) {
            return argument -> {
                long[] tokens = pushAll();
                try {
                    return function.apply(argument);
                } finally {
                    popAll(tokens);
                }
            };
        }

        private long[] pushAll() {
            if (slots.length == 0 || !isOn())
                return null;
            long[] tokens = new long[slots.length];
            int withId = withId();
            for (int i = 0; i < slots.length; i++)
                tokens[i] = i == withId ? pushPart0(slots[i], part[0], part[1]) : push0(slots[i]);
            return tokens;
        }

        private void popAll(long[] tokens) {
            int withId = withId();
            for (int i = tokens == null ? 0 : tokens.length; i-- > 0;)
                if (i != withId)
                    leave(tokens[i]);
                else if (isOn() && tokens[i] != NO_TOKEN)
                    popPart0(tokens[i]);
        }

        /** The index of the frame with the id; -1: none has one. */
        private int withId() {
            return part == null ? -1 : (int) Math.min(Math.max(part[2], 1), slots.length) - 1;
        }
    }

    private static boolean isOn() {
        try {
            return (boolean) IS_ON.invokeExact();
        } catch (Throwable e) {
            return false;
        }
    }

    private static Activity pushed(int frame) {
        return new Activity(open(frame), Thread.currentThread());
    }

    private static Activity adopted(long[] id, int frame) {
        if (id == null)
            return pushed(frame);
        int slot = Frames.slot(frame);
        if (slot == NO_SLOT)
            return NONE;
        return new Activity(pushPart0(slot, id[0], id[1]), Thread.currentThread(), id[0], id[1]);
    }

    private static long open(int frame) {
        int slot = Frames.slot(frame);
        return slot == NO_SLOT ? NO_TOKEN : push0(slot);
    }

    /** Tells an agent that is here already of this class; one that comes later finds the class by itself. */
    private static void announce() {
        try {
            Class.forName("java.lang.TreadleHooks", true, null)
                .getMethod("activity", Object.class)
                .invoke(null, Activity.class);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return; // no agent
        }
    }

    /** Called by the agent, which has bound the native methods before. */
    private static void turn(boolean on) {
        if (on)
            Frames.find();
        SWITCH.setTarget(MethodHandles.constant(boolean.class, on));
        MutableCallSite.syncAll(new MutableCallSite[] {SWITCH});
    }

    /** The agent's slot of a frame. */
    private static native int register0(String identifier, String parameter, int other);

    /** A token, or NO_TOKEN. */
    private static native long push0(int slot);

    private static native void pop0(long token);

    /** The slots of the frames that are open on this thread, the oldest first; or null. */
    private static native int[] stack0();

    /** As push0, with an id; the token is for popPart0. */
    private static native long pushPart0(int slot, long high, long low);

    private static native void popPart0(long token);

    /** The id of the innermost frame with one, and how many frames there are down to it; or null. */
    private static native long[] part0();

    /** A new id; or null. */
    private static native long[] newId0();

    /** Ids: two numbers, and 32 hexadecimal digits. */
    private static final class Ids {
        private static final int DIGITS = 32;

        /** An agent from before there were ids has not bound their methods: then no frame has an id. */
        private static boolean areBound;
        private static boolean areUnbound;

        /** Null: the frame has no id. */
        static long[] make() {
            return areBound() ? newId0() : null;
        }

        static long[] part() {
            return areBound() ? part0() : null;
        }

        private static boolean areBound() {
            if (areBound || areUnbound)
                return areBound;
            try {
                part0();
                areBound = true;
            } catch (UnsatisfiedLinkError e) {
                areUnbound = true;
            }
            return areBound;
        }

        /** Null: the text is no id, or frames have none. */
        static long[] parse(String text) {
            if (text == null || text.length() != DIGITS || !areBound())
                return null;
            long[] id = new long[2];
            for (int i = 0; i < DIGITS; i++) {
                char c = text.charAt(i);
                int digit = c < 128 ? Character.digit(c, 16) : -1;
                if (digit < 0)
                    return null;
                id[i / 16] = id[i / 16] << 4 | digit;
            }
            return (id[0] | id[1]) == 0 ? null : id;
        }

        static String text(long high, long low) {
            return digits(high).concat(digits(low));
        }

        private static String digits(long half) {
            String text = Long.toHexString(half);
            return "0000000000000000".substring(text.length()).concat(text);
        }
    }

    /** The frames that this class knows, numbered. They are the same for the class's whole life. */
    private static final class Frames {
        private static final int CACHED = 1024;

        private static final Frame[] CACHE = new Frame[CACHED]; // by hash; races do no harm: frames are immutable
        private static final ConcurrentHashMap<Frame, Frame> KNOWN = new ConcurrentHashMap<>();
        private static final Frame[] NUMBERED = new Frame[FRAMES_MAX];
        private static final int[] SLOTS = new int[FRAMES_MAX];
        private static int count; // under KNOWN, as is the next
        private static int parameters;
        private static boolean hasAgent;
        private static final Frame OTHERS;

        static {
            Arrays.fill(SLOTS, NO_SLOT);
            OTHERS = add(new Frame(OTHER, null, OTHER_IDENTIFIER, 0));
        }

        static int find(String identifier, String parameter) {
            if (identifier == null)
                identifier = "null";
            int hash = hash(identifier, parameter);
            Frame frame = CACHE[(hash ^ hash >>> 16) & CACHED - 1];
            return frame != null && frame.is(identifier, parameter) ? frame.number
                                                                    : findSlowly(identifier, parameter, hash);
        }

        static int slot(int frame) {
            return frame >= 0 && frame < FRAMES_MAX ? SLOTS[frame] : NO_SLOT;
        }

        /** Finds the slots of all frames. */
        static void find() {
            synchronized (KNOWN) {
                hasAgent = true;
                for (int i = 0; i < count; i++)
                    findSlot(NUMBERED[i]);
            }
        }

        private static int hash(String identifier, String parameter) {
            return parameter == null ? identifier.hashCode() : 31 * identifier.hashCode() + parameter.hashCode();
        }

        private static int findSlowly(String identifier, String parameter, int hash) {
            Frame wanted = new Frame(identifier, parameter, AS_IT_IS, NO_SLOT);
            Frame frame = KNOWN.get(wanted);
            if (frame == null)
                frame = make(identifier, parameter);
            if (frame.equals(wanted))
                CACHE[(hash ^ hash >>> 16) & CACHED - 1] = frame;
            return frame.number;
        }

        private static Frame make(String identifier, String parameter) {
            if (parameter != null && parameters >= PARAMETERS_MAX) {
                Frame other = KNOWN.get(new Frame(identifier, OTHER, OTHER_PARAMETER, NO_SLOT));
                if (other != null)
                    return other;
            }
            synchronized (KNOWN) {
                int other = AS_IT_IS;
                if (parameter != null && parameters >= PARAMETERS_MAX) {
                    parameter = OTHER;
                    other = OTHER_PARAMETER;
                }
                Frame frame = KNOWN.get(new Frame(identifier, parameter, other, NO_SLOT));
                if (frame != null)
                    return frame;
                if (count >= FRAMES_MAX)
                    return OTHERS;
                if (parameter != null && other == AS_IT_IS)
                    parameters++;
                return add(new Frame(identifier, parameter, other, count));
            }
        }

        private static Frame add(Frame frame) {
            NUMBERED[frame.number] = frame;
            count++;
            if (hasAgent)
                findSlot(frame);
            KNOWN.put(frame, frame);
            return frame;
        }

        private static void findSlot(Frame frame) {
            if (SLOTS[frame.number] == NO_SLOT)
                SLOTS[frame.number] = register0(cut(frame.identifier), cut(frame.parameter), frame.other);
        }

        /** Not between the two halves of a character beyond 16 bits. */
        private static String cut(String text) {
            if (text == null || text.length() <= TEXT_MAX)
                return text;
            int end = Character.isHighSurrogate(text.charAt(TEXT_MAX - 2)) ? TEXT_MAX - 2 : TEXT_MAX - 1;
            return text.substring(0, end) + "…";
        }
    }

    private static final class Frame {
        final String identifier;
        final String parameter; // or null
        final int other;
        final int number;

        Frame(String identifier, String parameter, int other, int number) {
            this.identifier = identifier;
            this.parameter = parameter;
            this.other = other;
            this.number = number;
        }

        boolean is(String identifier, String parameter) {
            return this.identifier.equals(identifier)
                && (parameter == null ? this.parameter == null : parameter.equals(this.parameter)) && other == AS_IT_IS;
        }

        @Override
        public boolean equals(Object object) {
            return object instanceof Frame that && other == that.other && identifier.equals(that.identifier)
                && (parameter == null ? that.parameter == null : parameter.equals(that.parameter));
        }

        @Override
        public int hashCode() {
            return Frames.hash(identifier, parameter);
        }
    }
}
