package tool.loadcell.rules;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Metrics of the servers of a coordinator: values of the same name and labels are added up. */
final class ServerMetrics {
  /** Of all servers; one that answers later is missing in the sums. */
  private static final long LIMIT_MS = 500;

  private static final byte[] REQUEST =
      "GET /metrics HTTP/1.1\r\nHost: server\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final String HEAD_END = "\r\n\r\n";

  private ServerMetrics() {}

  /** Text in the format of Prometheus, and with it the number of servers that answered. */
  static String summed(List<ServerAddress> servers) {
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LIMIT_MS);
    List<Map<String, Double>> pages = new ArrayList<>();
    for (ServerAddress server : servers) {
      try {
        pages.add(parsed(page(server, deadlineNs)));
      } catch (IOException missing) {
        // it is not among those that answered
      }
    }
    return new MetricsText()
        .metric("rules_servers", "gauge", "Servers whose metrics are in the sums.", pages.size())
        + sum(pages);
  }

  /** Values by name and labels; comments have the value NaN. Raises IOException for any other text. */
  static Map<String, Double> parsed(String page) throws IOException {
    Map<String, Double> lines = new LinkedHashMap<>();
    for (String line : page.split("\n")) {
      int end = line.lastIndexOf(' ');
      if (line.startsWith("#")) {
        lines.put(line, Double.NaN);
      } else if (end > 0) {
        lines.put(line.substring(0, end), value(line.substring(end + 1)));
      } else if (!line.isBlank()) {
        throw new IOException("no metric: " + line);
      }
    }
    return lines;
  }

  private static double value(String text) throws IOException {
    try {
      double value = Double.parseDouble(text);
      if (Double.isFinite(value)) {
        return value;
      }
    } catch (NumberFormatException error) {
      // reported below
    }
    throw new IOException("no value of a metric: " + text);
  }

  /** Comments as on the first page, and each value as the sum over the pages. */
  static String sum(List<Map<String, Double>> pages) {
    Map<String, Double> lines = new LinkedHashMap<>();
    for (Map<String, Double> page : pages) {
      page.forEach((line, value) -> lines.merge(line, value, Double::sum));
    }
    MetricsText text = new MetricsText();
    lines.forEach(
        (line, value) -> {
          if (value.isNaN()) {
            text.line(line);
          } else {
            text.value(line, value);
          }
        });
    return text.toString();
  }

  private static String page(ServerAddress server, long deadlineNs) throws IOException {
    try (SocketChannel channel = server.connect();
        Selector selector = Selector.open()) {
      channel.write(ByteBuffer.wrap(REQUEST));
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_READ);
      ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
      while (channel.read(bytes) >= 0) {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime());
        if (leftMs <= 0 || !bytes.hasRemaining()) {
          throw new IOException("no complete page in time");
        }
        selector.select(leftMs);
        selector.selectedKeys().clear();
      }
      String answer = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
      int head = answer.indexOf(HEAD_END);
      if (head < 0 || !answer.startsWith("HTTP/1.1 200 ")) {
        throw new IOException("no page of metrics");
      }
      return answer.substring(head + HEAD_END.length());
    }
  }
}
