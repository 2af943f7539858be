package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class QueueTest {
  private static StreamRecord record(long number, long key) {
    return new StreamRecord(number, key, 0, true, 0, 0);
  }

  private static Thread started(long records, long key, RecordQueue queue) {
    Thread writer =
        new Thread(
            () -> {
              try {
                for (long number = 0; number < records; number++) {
                  queue.put(record(number, key));
                }
              } catch (InterruptedException stop) {
                // the test has failed
              }
            });
    writer.setDaemon(true);
    writer.start();
    return writer;
  }

  @ParameterizedTest
  @EnumSource
  void aFullQueueBlocksTheWriter(Settings.QueueKind kind) throws Exception {
    RecordQueue queue = RecordQueue.of(kind, 3);
    Thread writer = started(5, 1, queue);
    while (queue.highWaterHits() == 0) {
      Thread.sleep(1);
    }
    writer.join(100);
    assertTrue(writer.isAlive());
    assertEquals(3, queue.length());
    StreamRecord[] records = new StreamRecord[2];
    List<Long> numbers = new ArrayList<>();
    while (numbers.size() < 5) {
      int taken = queue.take(records);
      for (int index = 0; index < taken; index++) {
        numbers.add(records[index].number);
      }
    }
    writer.join();
    assertEquals(List.of(0L, 1L, 2L, 3L, 4L), numbers);
    assertTrue(queue.blockedNs() >= 100_000_000, "time: " + queue.blockedNs());
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsLostAndEachWriterKeepsItsOrder(Settings.QueueKind kind) throws Exception {
    RecordQueue queue = RecordQueue.of(kind, 64);
    int writers = 4;
    int each = 50_000;
    for (int key = 0; key < writers; key++) {
      started(each, key, queue);
    }
    long[] next = new long[writers];
    StreamRecord[] records = new StreamRecord[256];
    for (int left = writers * each; left > 0; ) {
      int taken = queue.take(records);
      left -= taken;
      for (int index = 0; index < taken; index++) {
        assertEquals(next[(int) records[index].key]++, records[index].number);
      }
    }
    assertEquals(0, queue.length());
  }

  @ParameterizedTest
  @EnumSource
  void aReaderThatSleepsIsWoken(Settings.QueueKind kind) throws Exception {
    RecordQueue queue = RecordQueue.of(kind, 8);
    StreamRecord[] records = new StreamRecord[8];
    for (int round = 0; round < 200; round++) {
      Thread reader =
          new Thread(
              () -> {
                try {
                  queue.take(records);
                } catch (InterruptedException stop) {
                  // the test has failed
                }
              });
      reader.start();
      if (round % 4 == 0) {
        Thread.sleep(2);
      }
      queue.put(record(round, 1));
      reader.join();
    }
    assertEquals(0, queue.length());
  }
}
