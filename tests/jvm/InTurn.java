/** Runs the programs that odd flags are tried with, one behind the other in one JVM: a start costs more than they do. */
public class InTurn {
    public static void main(String[] args) {
        SelfRecursion.main(args);
        Exceptions.main(args);
        Lambdas.main(args);
    }
}
