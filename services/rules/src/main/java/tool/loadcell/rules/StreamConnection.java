package tool.loadcell.rules;

import java.io.IOException;
import java.nio.channels.SocketChannel;

/** A connection with a stream of records: its reader, and the answers that the rule threads collect. */
final class StreamConnection {
  final long load;
  private final SocketChannel channel;
  private final Settings settings;
  private final RuleThreads threads;
  private final Answers answers;
  /** By thread. */
  private final AnswerBatch[] batches;

  StreamConnection(SocketChannel channel, Settings settings, RuleThreads threads, Loads loads) {
    this.channel = channel;
    this.settings = settings;
    this.threads = threads;
    load = loads.enter();
    answers = new Answers(channel, settings.answers, loads::leave);
    batches = new AnswerBatch[settings.threads];
    for (int thread = 0; thread < batches.length; thread++) {
      batches[thread] = new AnswerBatch(settings.answers);
    }
  }

  AnswerBatch batch(int thread) {
    return batches[thread];
  }

  /** Passes on the answers that a thread has collected. It may block. */
  void passOn(AnswerBatch batch) throws InterruptedException {
    answers.add(batch);
    batch.clear();
  }

  /** Reads the records up to the end of the stream. Returns why it ends before, or null. */
  String read(byte[] first) throws InterruptedException {
    Frames frames = new Frames(channel, first, settings, () -> {});
    RecordParser parser = RecordParser.of(settings.format);
    long received = 0;
    String error = null;
    try {
      while (frames.next()) {
        StreamRecord record = parser.parse(frames);
        record.connection = this;
        threads.put(record);
        received++;
      }
    } catch (MalformedRecord malformed) {
      error = malformed.getMessage() + ", record " + (received + 1) + " of the connection";
    } catch (IOException gone) {
      // the client has closed the connection: what it has sent is processed
    }
    answers.finish(received, error);
    discard(frames, error);
    answers.inputEnded();
    return error;
  }

  private static void discard(Frames frames, String error) {
    if (error != null) {
      try {
        frames.discard();
      } catch (IOException closed) {
        // the end
      }
    }
  }
}
