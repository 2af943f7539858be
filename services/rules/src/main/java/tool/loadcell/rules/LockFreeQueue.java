package tool.loadcell.rules;

import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.atomic.MpscAtomicArrayQueue;

/**
 * A ring without locks, for many writers and one reader (JCTools). A writer that finds it full sleeps for
 * short times. A reader that finds it empty spins, then sleeps until a writer wakes it.
 */
final class LockFreeQueue extends RecordQueue {
  private static final long FULL_SLEEP_NS = 20_000;
  private static final int EMPTY_SPINS = 200;

  private final MpscAtomicArrayQueue<StreamRecord> ring;
  private final int capacity;
  /** The reader while it sleeps. */
  private volatile Thread sleeper;

  LockFreeQueue(int capacity) {
    this.capacity = capacity;
    ring = new MpscAtomicArrayQueue<>(Math.max(capacity, 2)); // rounded up to a power of two: not the capacity
  }

  @Override
  protected boolean offer(StreamRecord record) {
    if (!ring.offerIfBelowThreshold(record, capacity)) {
      return false;
    }
    // The record has to be visible before the check, as the reader checks for records after it is a sleeper.
    VarHandle.fullFence();
    Thread reader = sleeper;
    if (reader != null) {
      sleeper = null;
      LockSupport.unpark(reader);
    }
    return true;
  }

  @Override
  protected void putWithRoom(StreamRecord record) throws InterruptedException {
    while (!offer(record)) {
      LockSupport.parkNanos(FULL_SLEEP_NS);
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  @Override
  int take(StreamRecord[] records) throws InterruptedException {
    int spins = 0;
    while (true) {
      int number = 0;
      while (number < records.length) {
        StreamRecord record = ring.poll();
        if (record == null) {
          break;
        }
        records[number++] = record;
      }
      if (number > 0) {
        return number;
      }
      if (spins++ < EMPTY_SPINS) {
        Thread.onSpinWait();
      } else {
        sleep();
      }
    }
  }

  private void sleep() throws InterruptedException {
    sleeper = Thread.currentThread();
    VarHandle.fullFence();
    if (ring.isEmpty()) {
      LockSupport.park(this);
    }
    sleeper = null;
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  @Override
  int length() {
    return ring.size();
  }
}
