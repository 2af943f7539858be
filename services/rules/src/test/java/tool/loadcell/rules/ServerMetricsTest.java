package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ServerMetricsTest {
  @Test
  void addsUpValuesOfTheSameNameAndLabels() {
    String first = "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 3\na{thread=\"1\"} 4\nb_total 0.5\n";
    String second = "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 5\nb_total 0.25\n";
    assertEquals(
        "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 8\na{thread=\"1\"} 4\nb_total 0.750000\n",
        ServerMetrics.sum(List.of(first, second)));
  }

  @Test
  void leavesOutServersThatDoNotAnswer() throws Exception {
    Listener server = Listener.tcp("127.0.0.1", 0, StreamClient.service("rules", "1"));
    try (ServerSocket hung = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      ServerAddress answering = ServerAddress.of("127.0.0.1:" + server.port());
      ServerAddress silent = ServerAddress.of("127.0.0.1:" + hung.getLocalPort());
      ServerAddress absent = ServerAddress.of("127.0.0.1:1");
      long start = System.nanoTime();
      String metrics = ServerMetrics.summed(List.of(answering, absent, silent));
      assertTrue(System.nanoTime() - start < 2_000_000_000L);
      assertTrue(metrics.contains("rules_servers 1\n"), metrics);
      assertTrue(metrics.contains("rules_records_total 0\n"), metrics);
    } finally {
      server.close();
    }
  }
}
