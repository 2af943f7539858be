import com.tagtraum.perf.gcviewer.imp.DataReaderFacade;
import com.tagtraum.perf.gcviewer.model.*;
import java.io.File;
import java.util.*;
import java.util.logging.*;

/** Prints per log: pauses, their sum and longest in ms, largest heap in KiB, sum of heap after in KiB. */
public class GcViewerTotals {
  public static void main(String[] files) throws Exception {
    Logger.getLogger("").setLevel(Level.OFF);
    java.io.PrintStream out = System.out;
    System.setOut(System.err);
    for (String file : files) {
      try {
        GCModel model = new DataReaderFacade().loadModel(new GcResourceFile(new File(file)));
        int count = 0; double sum = 0, longest = 0; long after = 0, largest = 0;
        for (Iterator<AbstractGCEvent<?>> it = model.getStopTheWorldEvents(); it.hasNext();) {
          AbstractGCEvent<?> event = it.next();
          if (event instanceof VmOperationEvent) continue;
          count++;
          sum += event.getPause();
          longest = Math.max(longest, event.getPause());
          if (event.hasMemoryInformation()) { after += event.getPostUsed(); largest = Math.max(largest, event.getTotal()); }
        }
        out.printf(Locale.ROOT, "%s\t%d\t%.6f\t%.6f\t%d\t%d%n", file, count, sum * 1e3, longest * 1e3, largest, after);
      } catch (Throwable error) {
        out.println(file + "\tfailed\t" + error.getClass().getSimpleName());
      }
    }
    out.flush();
    Runtime.getRuntime().halt(0);
  }
}
