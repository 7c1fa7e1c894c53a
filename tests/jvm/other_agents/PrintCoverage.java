import java.io.File;
import java.util.Arrays;
import org.jacoco.core.data.ExecutionData;
import org.jacoco.core.tools.ExecFileLoader;

/** What JaCoCo recorded, a line a class: name, identity of its bytes, probes that were hit. */
public class PrintCoverage {
    public static void main(String[] args) throws Exception {
        ExecFileLoader loader = new ExecFileLoader();
        loader.load(new File(args[0]));
        for (ExecutionData data : loader.getExecutionDataStore().getContents()) {
            System.out.println(data.getName() + " " + data.getId() + " "
                    + Arrays.toString(data.getProbes()));
        }
    }
}
