package tool.loadcell.rules;

import java.util.concurrent.atomic.LongAdder;

/** Queue of a thread. A full one blocks the reader of a connection; no record is dropped. */
abstract class RecordQueue {
  /** Records that found the queue full. */
  private final LongAdder highWaterHits = new LongAdder();

  private final LongAdder blockedNs = new LongAdder();

  static RecordQueue of(Settings.QueueKind kind, int capacity) {
    return kind == Settings.QueueKind.LOCKED ? new LockedQueue(capacity) : new LockFreeQueue(capacity);
  }

  /** Adds a record, once there is room. Several threads may call it. */
  final void put(StreamRecord record) throws InterruptedException {
    if (offer(record)) {
      return;
    }
    highWaterHits.increment();
    long startNs = System.nanoTime();
    putWithRoom(record);
    blockedNs.add(System.nanoTime() - startNs);
  }

  /** Takes the oldest records, at least one, into the array. Returns their number. One thread calls it. */
  abstract int take(StreamRecord[] records) throws InterruptedException;

  abstract int length();

  /** Adds a record unless the queue is full. */
  protected abstract boolean offer(StreamRecord record);

  /** Adds a record; waits for room. */
  protected abstract void putWithRoom(StreamRecord record) throws InterruptedException;

  final long highWaterHits() {
    return highWaterHits.sum();
  }

  final long blockedNs() {
    return blockedNs.sum();
  }
}
