package tool.loadcell.rules;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * The records of one thread that are retained, by key. For a record with number i these are the records with
 * a number above i - n, so that the result does not depend on the number of threads and servers.
 *
 * <p>Records leave in order of arrival. With one connection this is the order of numbers. With several, the
 * highest number counts, and a record may leave a little later than by its number. A thread never retains
 * more than n records.
 */
final class RetainedRecords {
  private final long most;
  private final Map<Long, KeyHistory> histories = new HashMap<>();
  private final ArrayDeque<StreamRecord> records = new ArrayDeque<>();
  private long highestNumber = -1;

  RetainedRecords(long most) {
    this.most = most;
  }

  /** Removes the records that are too old for the new one, and returns those of its key. */
  KeyHistory advance(StreamRecord record) {
    highestNumber = Math.max(highestNumber, record.number);
    long lastRemoved = highestNumber - most;
    StreamRecord oldest = records.peekFirst();
    while (oldest != null && (oldest.number <= lastRemoved || records.size() >= most)) {
      records.pollFirst();
      KeyHistory history = oldest.history;
      oldest.history = null;
      history.removeOldest();
      if (history.isEmpty() && oldest.key != record.key) {
        histories.remove(oldest.key);
      }
      oldest = records.peekFirst();
    }
    return histories.computeIfAbsent(record.key, key -> new KeyHistory());
  }

  /** `history` is the result of `advance`. */
  void add(StreamRecord record, KeyHistory history) {
    record.history = history;
    history.add(record);
    records.addLast(record);
  }

  void clear() {
    histories.clear();
    records.clear();
    highestNumber = -1;
  }

  int size() {
    return records.size();
  }

  int keys() {
    return histories.size();
  }
}
