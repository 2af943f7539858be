package tool.loadcell.berkeleydb;

import com.sleepycat.je.JEVersion;
import java.nio.file.Path;
import java.util.Properties;

/** Settings of the service, read from system properties. Those of Berkeley DB ("je.*") are passed on to it. */
final class Settings {
  final String host;
  final int port;
  /** Where the shards are: a directory of the version, the number of shards and the fill alone. */
  final Path data;
  final int shards;
  /** Keys 1 to this number are stored before the service is ready; 0: none. */
  final long fillKeys;
  final int fillValueBytes;
  final Properties je;

  private Settings(Properties properties) {
    host = properties.getProperty("host", "127.0.0.1");
    port = (int) number(properties, "port", 8080, 0, 65_535);
    shards = (int) number(properties, "shards", 1, 1, 1_024);
    fillValueBytes = (int) number(properties, "fillValueSize", 5_000, 1, Parameters.MOST_VALUE_BYTES);
    long heapBytes = Runtime.getRuntime().maxMemory();
    fillKeys = keys(properties, heapBytes, fillValueBytes);
    // Data of other settings would make results depend on the order of trials.
    data =
        Path.of(properties.getProperty("data", "berkeleydb-data"))
            .resolve("je-" + JEVersion.CURRENT_VERSION.getNumericVersionString() + "-shards-" + shards)
            .resolve(fillKeys == 0 ? "not-filled" : "keys-" + fillKeys + "-of-" + fillValueBytes + "-bytes");
    je = new Properties();
    for (String name : properties.stringPropertyNames()) {
      if (name.startsWith("je.") && !name.equals("je.version")) {
        je.setProperty(name, properties.getProperty(name));
      }
    }
    long offHeapBytes = share(properties, "offHeap", heapBytes) / shards;
    if (offHeapBytes > 0) {
      je.putIfAbsent("je.maxOffHeapMemory", Long.toString(offHeapBytes));
      // By default the cache is emptied down to 50 MB below its size, which may be all of a small one.
      je.putIfAbsent("je.offHeap.evictBytes", Long.toString(Math.min(50 << 20, offHeapBytes / 10)));
    }
    // Each commit reaches the operating system, as in most key-value services; a plan may ask for more or less.
    je.putIfAbsent("je.txn.durability", "write_no_sync,write_no_sync,simple_majority");
  }

  /** Raises IllegalArgumentException, which names the property. */
  static Settings of(Properties properties) {
    return new Settings(properties);
  }

  private static long keys(Properties properties, long heapBytes, int valueBytes) {
    if (isShare(properties, "fill")) {
      return share(properties, "fill", heapBytes) / valueBytes;
    }
    try {
      return number(properties, "fill", 0, 0, Long.MAX_VALUE);
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException(
          "-Dfill=" + properties.getProperty("fill")
              + " is neither a number of keys nor a share of the heap such as 120%");
    }
  }

  private static boolean isShare(Properties properties, String name) {
    return properties.getProperty(name, "").trim().endsWith("%");
  }

  /** A share of the heap such as "120%", in bytes; 0 without one. */
  private static long share(Properties properties, String name, long heapBytes) {
    String text = properties.getProperty(name);
    if (text == null) {
      return 0;
    }
    if (!isShare(properties, name)) {
      throw new IllegalArgumentException(
          "-D" + name + "=" + text + " is not a share of the heap: write it with %, such as 40%");
    }
    Properties percent = new Properties();
    percent.setProperty(name, text.trim().substring(0, text.trim().length() - 1));
    return number(percent, name, 0, 0, 10_000) * heapBytes / 100;
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
