package tool.loadcell.rules;

import tool.loadcell.rules.facts.WindowStatistics;

/**
 * The retained records of one key, in order of arrival: a ring that grows and shrinks by powers of two.
 *
 * <p>Statistics are computed anew for each payment, from the newest record back to the start of the window.
 * So a payment costs time in proportion to the retained records of its key, as in the system of the report.
 */
final class KeyHistory {
  private static final int LEAST_CAPACITY = 4;

  private StreamRecord[] ring = new StreamRecord[LEAST_CAPACITY];
  private int oldest;
  private int size;
  private StreamRecord newestLogin;

  boolean isEmpty() {
    return size == 0;
  }

  /** Null without a retained one. */
  StreamRecord newestLogin() {
    return newestLogin;
  }

  void add(StreamRecord record) {
    if (size == ring.length) {
      resize(size * 2);
    }
    ring[(oldest + size) & (ring.length - 1)] = record;
    size++;
    if (!record.isPayment) {
      newestLogin = record;
    }
  }

  void removeOldest() {
    if (ring[oldest] == newestLogin) {
      newestLogin = null;
    }
    ring[oldest] = null;
    oldest = (oldest + 1) & (ring.length - 1);
    size--;
    if (ring.length > LEAST_CAPACITY && size < ring.length / 4) {
      resize(ring.length / 2);
    }
  }

  /** Adds the payments with a later time than this one. */
  void addPaymentsAfter(long time, WindowStatistics statistics) {
    int mask = ring.length - 1;
    for (int position = oldest + size - 1; position >= oldest; position--) {
      StreamRecord record = ring[position & mask];
      if (record.time <= time) {
        return;
      }
      if (record.isPayment) {
        statistics.add(record.amount);
      }
    }
  }

  private void resize(int capacity) {
    StreamRecord[] copy = new StreamRecord[capacity];
    for (int index = 0; index < size; index++) {
      copy[index] = ring[(oldest + index) & (ring.length - 1)];
    }
    ring = copy;
    oldest = 0;
  }
}
