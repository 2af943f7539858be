import com.microsoft.gctoolkit.GCToolKit;
import com.microsoft.gctoolkit.aggregator.*;
import com.microsoft.gctoolkit.event.*;
import com.microsoft.gctoolkit.event.g1gc.*;
import com.microsoft.gctoolkit.event.generational.*;
import com.microsoft.gctoolkit.event.zgc.*;
import com.microsoft.gctoolkit.event.shenandoah.*;
import com.microsoft.gctoolkit.io.SingleGCLogFile;
import java.nio.file.Path;
import java.util.*;
import java.util.logging.*;

/** The same by gctoolkit; durations are in seconds, of ZGC in milliseconds. */
public class GcToolkitTotals {
  @Collates(Sums.class)
  public static class Totals extends Aggregation {
    int count; double sum, longest; long after, largest;
    void add(double ms) { count++; sum += ms; longest = Math.max(longest, ms); }
    void heap(MemoryPoolSummary heap) { if (heap != null) { after += heap.getOccupancyAfterCollection(); largest = Math.max(largest, heap.getSizeAfterCollection()); } }
    @Override public boolean hasWarning() { return false; }
    @Override public boolean isEmpty() { return count == 0; }
  }
  @Aggregates({EventSource.G1GC, EventSource.GENERATIONAL, EventSource.CMS_UNIFIED, EventSource.CMS_PREUNIFIED, EventSource.ZGC, EventSource.SHENANDOAH, EventSource.TENURED})
  public static class Sums extends Aggregator<Totals> {
    public Sums(Totals totals) {
      super(totals);
      register(GenerationalGCPauseEvent.class, event -> { totals.add(event.getDuration() * 1e3); totals.heap(event.getHeap()); });
      register(G1GCPauseEvent.class, event -> { totals.add(event.getDuration() * 1e3); totals.heap(event.getHeap()); });
      register(ZGCCycle.class, event -> { totals.add(event.getPauseMarkStartDuration()); totals.add(event.getPauseMarkEndDuration()); totals.add(event.getPauseRelocateStartDuration()); });
      register(ShenandoahCycle.class, event -> totals.add(event.getDuration() * 1e3));
    }
  }
  public static void main(String[] files) throws Exception {
    Logger.getLogger("").setLevel(Level.OFF);
    java.io.PrintStream out = System.out;
    System.setOut(System.err);
    for (String file : files) {
      Thread reader = new Thread(() -> {
        try {
          GCToolKit toolkit = new GCToolKit();
          Totals totals = new Totals();
          toolkit.registerAggregation(totals);
          toolkit.analyze(new SingleGCLogFile(Path.of(file)));
          out.printf(Locale.ROOT, "%s\t%d\t%.6f\t%.6f\t%d\t%d%n", file, totals.count, totals.sum, totals.longest, totals.largest, totals.after);
        } catch (Throwable error) {
          out.println(file + "\tfailed\t" + error);
        }
      });
      reader.setDaemon(true);
      reader.start();
      reader.join(3000);
      if (reader.isAlive()) out.println(file + "\tfailed\tno end in 3 s");
    }
    out.flush();
    Runtime.getRuntime().halt(0);
  }
}
