package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class ServerMetricsTest {
  @Test
  void addsUpValuesOfTheSameNameAndLabels() throws Exception {
    String first = "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 3\na{thread=\"1\"} 4\nb_total 0.5\n";
    String second = "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 5\nb_total 0.25\n";
    assertEquals(
        "# HELP a Text.\n# TYPE a gauge\na{thread=\"0\"} 8\na{thread=\"1\"} 4\nb_total 0.750000\n",
        ServerMetrics.sum(List.of(ServerMetrics.parsed(first), ServerMetrics.parsed(second))));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "x", "! busy\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\na b\n",
        "HTTP/1.1 200 OK\r\n\r\n<html>\n", "HTTP/1.1 200 OK\r\n\r\na NaN\n",
        "HTTP/1.1 404 Not Found\r\n\r\na 1\n"
      })
  void leavesOutServersWithoutAPageOfMetrics(String answer) throws Exception {
    try (ServerSocket other = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread thread = new Thread(() -> answerOnce(other, answer));
      thread.start();
      ServerAddress address = ServerAddress.of("127.0.0.1:" + other.getLocalPort());
      String metrics = ServerMetrics.summed(List.of(address));
      assertTrue(metrics.endsWith("rules_servers 0\n"), metrics);
      thread.join();
    }
  }

  private static void answerOnce(ServerSocket server, String answer) {
    try (Socket connection = server.accept()) {
      connection.getInputStream().read(new byte[1 << 10]);
      connection.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Test
  void leavesOutServersThatDoNotAnswer() throws Exception {
    Listener server = Listener.tcp(0, StreamClient.service("rules", "1"));
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
