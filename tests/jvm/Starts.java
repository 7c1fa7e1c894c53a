/** Starts threads of either kind, on a JDK that may have no virtual ones; what they throw ends them. */
public class Starts {
    /** What a thread does. */
    interface Work {
        void run() throws Exception;
    }

    static Runnable quietly(Work work) {
        return () -> {
            try {
                work.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        };
    }

    static Thread start(String name, boolean isVirtual, Work work) throws Exception {
        if (!isVirtual) {
            Thread thread = new Thread(quietly(work), name);
            thread.start();
            return thread;
        }
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        builder = type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("start", Runnable.class).invoke(builder, quietly(work));
    }
}
