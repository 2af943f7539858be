package tool.loadcell.berkeleydb;

import io.undertow.server.HttpServerExchange;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Parameters of a request. A missing or wrong one raises IllegalArgumentException, which names it. */
final class Parameters {
  /** Largest value: Berkeley DB keeps a value in memory as a whole. */
  static final int MOST_VALUE_BYTES = 64 << 20;

  private final HttpServerExchange exchange;

  Parameters(HttpServerExchange exchange) {
    this.exchange = exchange;
  }

  /** A number of a query. */
  long number(String name, long least, long most) {
    String written = text(name);
    try {
      long value = Long.parseLong(written);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException error) {
      // reported below
    }
    throw new IllegalArgumentException(
        name + "=" + written + " is not a number from " + least + " to " + most);
  }

  /** A text of a query, not empty. */
  String text(String name) {
    String written = optional(name);
    if (written == null || written.isEmpty()) {
      throw new IllegalArgumentException("the parameter " + name + " is missing");
    }
    return written;
  }

  /** A text of a query, or null. */
  String optional(String name) {
    Deque<String> values = exchange.getQueryParameters().get(name);
    return values == null ? null : values.peekFirst();
  }

  /** Keys that are separated by commas. */
  List<String> keys() {
    List<String> keys = new ArrayList<>();
    for (String key : text("keys").split(",")) {
      if (!key.isEmpty()) {
        keys.add(key);
      }
    }
    return keys;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
