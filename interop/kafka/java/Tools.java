import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after the other in one JVM, which saves the start of one for each. A line of standard
 * input is a class of org.apache.kafka.tools and its arguments, separated by blanks; it is repeated behind "###" before what
 * the tool prints. A tool that ends with another status than 0 is followed by that status.
 */
public final class Tools {
    /** Thrown instead of leaving the JVM. */
    private static final class Ended extends RuntimeException {
        final int status;

        Ended(int status) {
            super("status " + status, null, false, false);
            this.status = status;
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((status, message) -> { throw new Ended(status); });
        Exit.setHaltProcedure((status, message) -> { throw new Ended(status); });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.trim().split(" +");
            System.out.println("### " + String.join(" ", words));
            try {
                Class.forName("org.apache.kafka.tools." + words[0]).getMethod("main", String[].class)
                    .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            } catch (InvocationTargetException e) {
                if (!(e.getCause() instanceof Ended)) {
                    e.getCause().printStackTrace(System.out);
                } else if (((Ended) e.getCause()).status != 0) {
                    System.out.println(e.getCause().getMessage());
                }
            }
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
