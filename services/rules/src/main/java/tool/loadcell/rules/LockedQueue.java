package tool.loadcell.rules;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A ring under a lock, with conditions for room and for records. */
final class LockedQueue extends RecordQueue {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition hasRoom = lock.newCondition();
  private final Condition hasRecords = lock.newCondition();
  private final StreamRecord[] ring;
  private int oldest;
  private int size;

  LockedQueue(int capacity) {
    ring = new StreamRecord[capacity];
  }

  @Override
  protected boolean offer(StreamRecord record) {
    lock.lock();
    try {
      if (size == ring.length) {
        return false;
      }
      add(record);
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void putWithRoom(StreamRecord record) throws InterruptedException {
    lock.lock();
    try {
      while (size == ring.length) {
        hasRoom.await();
      }
      add(record);
    } finally {
      lock.unlock();
    }
  }

  private void add(StreamRecord record) {
    int position = oldest + size;
    ring[position < ring.length ? position : position - ring.length] = record;
    if (size++ == 0) {
      hasRecords.signal();
    }
  }

  @Override
  int take(StreamRecord[] records) throws InterruptedException {
    lock.lock();
    try {
      while (size == 0) {
        hasRecords.await();
      }
      int number = Math.min(size, records.length);
      if (size == ring.length) {
        hasRoom.signalAll();
      }
      for (int index = 0; index < number; index++) {
        records[index] = ring[oldest];
        ring[oldest] = null;
        oldest = oldest + 1 < ring.length ? oldest + 1 : 0;
      }
      size -= number;
      return number;
    } finally {
      lock.unlock();
    }
  }

  @Override
  int length() {
    lock.lock();
    try {
      return size;
    } finally {
      lock.unlock();
    }
  }
}
