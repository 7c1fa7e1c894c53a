/** Native threads that allocate, which the JVM does not know of: so many, one after the other, each for so many ms. */
final class NativeAllocations {
    private NativeAllocations() {}

    static native int run(int threads, int ms);

    public static void main(String[] arguments) {
        System.loadLibrary("native_allocations");
        System.out.println(run(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1])));
    }
}
