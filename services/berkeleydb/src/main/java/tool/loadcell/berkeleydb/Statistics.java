package tool.loadcell.berkeleydb;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/** Counters of the service, and statistics of Berkeley DB as JSON. */
final class Statistics {
  final LongAdder sets = new LongAdder();
  final LongAdder gets = new LongAdder();
  final LongAdder hits = new LongAdder();
  final LongAdder failures = new LongAdder();

  /** All numbers that an object reports by getters: their names differ between versions of Berkeley DB. */
  static Map<String, Long> numbers(Object statistics) {
    Map<String, Long> numbers = new TreeMap<>();
    for (Method method : statistics.getClass().getMethods()) {
      Class<?> type = method.getReturnType();
      if (!method.getName().startsWith("get")
          || method.getParameterCount() > 0
          || !(type == long.class || type == int.class)) {
        continue;
      }
      try {
        Number value = (Number) method.invoke(statistics);
        String name = method.getName().substring(3);
        numbers.put(Character.toLowerCase(name.charAt(0)) + name.substring(1), value.longValue());
      } catch (IllegalAccessException | InvocationTargetException error) {
        continue; // a number that this version cannot report
      }
    }
    return numbers;
  }

  /** Everything as one JSON object. */
  String json(ShardedStore store, String workers) {
    StringBuilder text = new StringBuilder("{\n");
    text.append(" \"java\": \"").append(System.getProperty("java.version")).append("\",\n");
    text.append(" \"berkeleydb\": \"")
        .append(com.sleepycat.je.JEVersion.CURRENT_VERSION.getNumericVersionString())
        .append("\",\n");
    text.append(" \"workers\": \"").append(workers).append("\",\n");
    text.append(" \"sets\": ").append(sets.sum()).append(",\n");
    text.append(" \"gets\": ").append(gets.sum()).append(",\n");
    text.append(" \"hits\": ").append(hits.sum()).append(",\n");
    text.append(" \"failures\": ").append(failures.sum()).append(",\n");
    text.append(" \"shards\": [");
    String separator = "\n  ";
    for (Map<String, Long> shard : store.statistics()) {
      text.append(separator).append(object(shard));
      separator = ",\n  ";
    }
    return text.append("\n ]\n}\n").toString();
  }

  private static String object(Map<String, Long> numbers) {
    StringBuilder text = new StringBuilder("{");
    numbers.forEach(
        (name, value) -> {
          if (text.length() > 1) {
            text.append(", ");
          }
          text.append('"').append(name).append("\": ").append(value);
        });
    return text.append('}').toString();
  }
}
