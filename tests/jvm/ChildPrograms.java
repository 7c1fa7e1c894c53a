import java.io.File;

/** ChildPrograms INPUT OUTPUT: sorts a file by a native program, and waits for it. */
public class ChildPrograms {
    static int sort(String input, String output) throws Exception {
        return new ProcessBuilder("sort", "-S", "16M", "-o", output, input).inheritIO().start().waitFor();
    }

    public static void main(String[] arguments) throws Exception {
        int status = sort(arguments[0], arguments[1]);

        System.out.println("sorted " + new File(arguments[1]).length());
        System.exit(status);
    }
}
