package tool.loadcell.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/** A thread that processes the records of its keys, with a queue, a store and a session of its own. */
final class RuleThread implements Runnable {
  private static final int BATCH_RECORDS = 256;

  private final int index;
  private final RecordQueue queue;
  private final RetainedRecords retained;
  private final RuleEvaluation evaluation;
  /** Connections with answers that are not passed on. */
  private final List<StreamConnection> answered = new ArrayList<>();

  private long load;
  // Published for the metrics once for a batch.
  private volatile long processed;
  private volatile int retainedRecords;
  private volatile int keys;
  private final AtomicLongArray firedByRule = new AtomicLongArray(RuleTable.MOST_RULES + 1);

  RuleThread(int index, Settings settings, CompiledRules rules) {
    this.index = index;
    queue = RecordQueue.of(settings.queue, settings.highWater);
    retained = new RetainedRecords(settings.retained);
    evaluation = new RuleEvaluation(rules, settings.windowMs);
  }

  RecordQueue queue() {
    return queue;
  }

  long processed() {
    return processed;
  }

  int retainedRecords() {
    return retainedRecords;
  }

  int keys() {
    return keys;
  }

  long fired(int rule) {
    return firedByRule.get(rule);
  }

  @Override
  public void run() {
    StreamRecord[] records = new StreamRecord[BATCH_RECORDS];
    try {
      while (true) {
        int number = queue.take(records);
        for (int position = 0; position < number; position++) {
          process(records[position]);
          records[position] = null;
        }
        processed += number;
        retainedRecords = retained.size();
        keys = retained.keys();
        passOn();
      }
    } catch (InterruptedException stop) {
      // the service is closed
    }
  }

  private void process(StreamRecord record) {
    StreamConnection connection = record.connection;
    record.connection = null;
    if (connection.load != load) {
      retained.clear();
      load = connection.load;
    }
    KeyHistory history = retained.advance(record);
    int fired = record.isPayment ? evaluation.fired(record, history) : 0;
    retained.add(record, history);
    for (int bits = fired; bits != 0; bits &= bits - 1) {
      int rule = Integer.numberOfTrailingZeros(bits);
      firedByRule.lazySet(rule, firedByRule.get(rule) + 1);
    }
    AnswerBatch batch = connection.batch(index);
    if (batch.isEmpty()) {
      answered.add(connection);
    }
    batch.add(record.number, fired);
  }

  private void passOn() throws InterruptedException {
    for (StreamConnection connection : answered) {
      connection.passOn(connection.batch(index));
    }
    answered.clear();
  }
}
