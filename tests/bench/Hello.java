/** As short a life as a JVM can have. */
public class Hello {
    public static void main(String[] args) {
        System.out.println("hello, world");
    }
}
