package tool.loadcell.rules;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;

/** Settings of the service, read from system properties. */
final class Settings {
  enum Framing {
    LINE,
    LENGTH
  }

  enum Format {
    CSV,
    JSON
  }

  enum AnswerMode {
    COUNT,
    EACH,
    NONE
  }

  enum QueueKind {
    LOCKED,
    LOCK_FREE
  }

  final int port;
  /** Path of a Unix socket to listen on, too; null for none. */
  final String socket;
  /** Addresses that a coordinator forwards to; empty for a server. */
  final List<String> servers;
  /** Number of servers that a coordinator starts itself; 0 for none. */
  final int coordinate;
  /** The process ends with its standard input. */
  final boolean endsWithInput;
  final Framing framing;
  final Format format;
  final AnswerMode answers;
  final int limitBytes;
  final long retained;
  final int rules;
  final int threads;
  final QueueKind queue;
  /** Capacity of the queue of each thread, in records. */
  final int highWater;
  final long windowMs;

  private Settings(Properties properties) {
    port = (int) number(properties, "port", 8080, 0, 65_535);
    socket = properties.getProperty("socket");
    servers =
        Arrays.stream(properties.getProperty("servers", "").split(","))
            .map(String::trim)
            .filter(address -> !address.isEmpty())
            .toList();
    coordinate = (int) number(properties, "coordinate", 0, 1, 16);
    endsWithInput = Boolean.parseBoolean(properties.getProperty("endsWithInput", "false"));
    if (coordinate > 0 && !servers.isEmpty()) {
      throw new IllegalArgumentException("-Dservers and -Dcoordinate are alternatives");
    }
    framing = choice(properties, "framing", Framing.LINE);
    format = choice(properties, "format", Format.CSV);
    answers = choice(properties, "answers", AnswerMode.COUNT);
    limitBytes = (int) number(properties, "limit", 1_048_576, 1, 1 << 28);
    retained = number(properties, "retained", 200_000, 1, 1_000_000_000);
    rules = (int) number(properties, "rules", RuleTable.MOST_RULES, 1, RuleTable.MOST_RULES);
    threads = (int) number(properties, "threads", 1, 1, 256);
    queue = choice(properties, "queue", QueueKind.LOCKED);
    highWater = (int) number(properties, "highWater", 10_000, 1, 1 << 24);
    windowMs = number(properties, "window", 600_000, 1, Long.MAX_VALUE / 2);
  }

  /** Raises IllegalArgumentException, which names the property. */
  static Settings of(Properties properties) {
    return new Settings(properties);
  }

  private static <T extends Enum<T>> T choice(Properties properties, String name, T otherwise) {
    String text = properties.getProperty(name);
    if (text == null) {
      return otherwise;
    }
    List<String> words =
        Arrays.stream(otherwise.getDeclaringClass().getEnumConstants()).map(Settings::word).toList();
    int index = words.indexOf(text.trim());
    if (index < 0) {
      throw new IllegalArgumentException(
          "-D" + name + "=" + text + " is none of " + String.join(", ", words));
    }
    return otherwise.getDeclaringClass().getEnumConstants()[index];
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static long number(Properties properties, String name, long otherwise, long least, long most) {
    String text = properties.getProperty(name);
    if (text == null) {
      return otherwise;
    }
    try {
      long value = Long.parseLong(text.trim());
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException error) {
      // reported below
    }
    throw new IllegalArgumentException(
        "-D" + name + "=" + text + " is not a number from " + least + " to " + most);
  }
}
