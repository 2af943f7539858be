package tool.loadcell.rules;

import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;

/** The rule service: evaluates the records of all connections in its rule threads. */
final class RuleService implements Node {
  private final Settings settings;
  private final RuleThreads threads;
  private final Loads loads = new Loads();
  private final LongAdder brokenStreams = new LongAdder();

  RuleService(Settings settings, CompiledRules rules) {
    this.settings = settings;
    threads = new RuleThreads(settings, rules);
  }

  @Override
  public void serve(SocketChannel channel, byte[] first) throws InterruptedException {
    String error = new StreamConnection(channel, settings, threads, loads).read(first);
    if (error != null) {
      brokenStreams.increment();
      System.out.println("connection closed: " + error);
    }
  }

  @Override
  public String notReady() {
    return null;
  }

  @Override
  public void close() {
    threads.close();
  }

  @Override
  public String metrics() {
    List<RuleThread> all = threads.all();
    MetricsText text = new MetricsText();
    text.declare("rules_queue_records", "gauge", "Records in the queue of a thread.");
    for (int index = 0; index < all.size(); index++) {
      String thread = Integer.toString(index);
      text.value("rules_queue_records", "thread", thread, all.get(index).queue().length());
    }
    text.metric(
        "rules_high_water_hits_total",
        "counter",
        "Records that found a queue full.",
        sum(thread -> thread.queue().highWaterHits()));
    text.metric(
        "rules_blocked_seconds_total",
        "counter",
        "Time that readers were blocked by full queues.",
        sum(thread -> thread.queue().blockedNs()) / 1e9);
    text.metric(
        "rules_records_total", "counter", "Records processed.", sum(RuleThread::processed));
    text.declare("rules_fired_total", "counter", "Rules fired.");
    for (int rule = 1; rule <= settings.rules; rule++) {
      int number = rule;
      text.value("rules_fired_total", "rule", "r" + rule, sum(thread -> thread.fired(number)));
    }
    text.metric(
        "rules_retained_records", "gauge", "Records retained.", sum(RuleThread::retainedRecords));
    text.metric("rules_keys", "gauge", "Keys of retained records.", sum(RuleThread::keys));
    text.metric(
        "rules_malformed_records_total",
        "counter",
        "Malformed records; each ended its connection.",
        brokenStreams.sum());
    text.metric("rules_connections", "gauge", "Open streams.", loads.open());
    return text.toString();
  }

  private double sum(ToDoubleFunction<RuleThread> value) {
    return threads.all().stream().mapToDouble(value).sum();
  }
}
