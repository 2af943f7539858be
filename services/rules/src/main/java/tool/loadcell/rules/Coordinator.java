package tool.loadcell.rules;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** A process before several rule services, which forwards records by key. */
final class Coordinator implements Node {
  private final Settings settings;
  private final List<ServerAddress> servers;
  private final Loads loads = new Loads();
  private final LongAdder forwarded = new LongAdder();
  private final LongAdder blockedNs = new LongAdder();
  private final LongAdder brokenStreams = new LongAdder();

  /** Raises IllegalArgumentException for a wrong address. */
  Coordinator(Settings settings, List<String> addresses) {
    this.settings = settings;
    servers = addresses.stream().map(ServerAddress::of).toList();
  }

  @Override
  public void serve(SocketChannel channel, byte[] first) {
    loads.enter();
    String error =
        new ForwardedConnection(channel, settings, blockedNs, forwarded, loads::leave).serve(servers, first);
    if (error != null) {
      brokenStreams.increment();
      System.out.println("connection closed: " + error);
    }
  }

  /** Ready when each server can be reached. */
  @Override
  public String notReady() {
    for (ServerAddress server : servers) {
      try {
        Channels.close(server.connect());
      } catch (IOException error) {
        return "server " + server.text() + " cannot be reached: " + error.getMessage();
      }
    }
    return null;
  }

  @Override
  public void close() {
    // connections end with the listeners
  }

  @Override
  public String metrics() {
    return new MetricsText()
        .metric("rules_forwarded_total", "counter", "Records forwarded.", forwarded.sum())
        .metric(
            "rules_forward_blocked_seconds_total",
            "counter",
            "Time in writes to servers, which block while a server takes nothing.",
            blockedNs.sum() / 1e9)
        .metric(
            "rules_broken_streams_total",
            "counter",
            "Streams that ended by a malformed record or the end of a server.",
            brokenStreams.sum())
        .metric("rules_client_connections", "gauge", "Open streams of clients.", loads.open())
        + ServerMetrics.summed(servers);
  }
}
