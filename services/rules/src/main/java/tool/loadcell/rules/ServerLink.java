package tool.loadcell.rules;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;

/**
 * Connection of a coordinator to one server, for one connection of a client. Records are collected until the
 * buffer is full or the client sends nothing more for now; a write blocks while the server takes nothing.
 */
final class ServerLink {
  /** Receives the answers of a server. */
  interface AnswerSink {
    /** Lines for `records` records, or no lines if the client is sent counts. */
    void accept(byte[] lines, int length, long records) throws InterruptedException;
  }

  /** A write failed: the server has ended, or the connection to it is closed. */
  static final class Gone extends IOException {
    private static final long serialVersionUID = 1;

    Gone(ServerAddress address, IOException cause) {
      super("server " + address.text() + " takes nothing more: " + cause.getMessage(), cause);
    }
  }

  private static final int BUFFER_BYTES = 1 << 16;

  private final ServerAddress address;
  private final SocketChannel channel;
  private final Settings.AnswerMode mode;
  private final LongAdder blockedNs;
  private final ByteBuffer unsent = ByteBuffer.allocate(BUFFER_BYTES);
  private volatile long forwarded;
  private volatile boolean isEnded;

  /** `blockedNs` sums up the time in writes. */
  ServerLink(ServerAddress address, Settings.AnswerMode mode, LongAdder blockedNs) throws IOException {
    this.address = address;
    this.mode = mode;
    this.blockedNs = blockedNs;
    channel = address.connect();
  }

  ServerAddress address() {
    return address;
  }

  void forward(Frames frame) throws IOException {
    int length = frame.frameEnd() - frame.frameStart();
    if (unsent.remaining() < length) {
      flush();
    }
    if (unsent.remaining() >= length) {
      unsent.put(frame.bytes(), frame.frameStart(), length);
    } else { // larger than the buffer
      write(ByteBuffer.wrap(frame.bytes(), frame.frameStart(), length));
    }
    forwarded++;
  }

  void flush() throws IOException {
    unsent.flip();
    write(unsent);
    unsent.clear();
  }

  /** The client has sent all: so has this connection. */
  void end() throws IOException {
    flush();
    isEnded = true;
    channel.shutdownOutput();
  }

  void close() {
    Channels.close(channel);
  }

  private void write(ByteBuffer bytes) throws IOException {
    if (bytes.hasRemaining()) {
      long startNs = System.nanoTime();
      try {
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
      } catch (IOException error) {
        throw new Gone(address, error);
      }
      blockedNs.add(System.nanoTime() - startNs);
    }
  }

  /** Reads the answers to their end. Returns null, or what is wrong with it. */
  String readAnswers(AnswerSink sink) throws InterruptedException {
    long answered = 0;
    byte[] bytes = new byte[BUFFER_BYTES];
    int length = 0;
    try {
      int number;
      while ((number = channel.read(ByteBuffer.wrap(bytes, length, bytes.length - length))) > 0) {
        int end = lastLineEnd(bytes, length, length + number);
        length += number;
        int lastLine = end == 0 ? 0 : lastLineEnd(bytes, 0, end - 1);
        boolean isError = end > 0 && bytes[lastLine] == '!';
        answered += passOn(bytes, isError ? lastLine : end, answered, sink);
        if (isError) {
          return "server " + address.text() + ": "
              + new String(bytes, lastLine + 1, end - lastLine - 1, StandardCharsets.UTF_8).trim();
        }
        System.arraycopy(bytes, end, bytes, 0, length - end);
        length -= end;
      }
      if (mode == Settings.AnswerMode.NONE && isEnded) {
        sink.accept(bytes, 0, forwarded);
        return null;
      }
    } catch (IOException gone) {
      // the server has ended: the numbers below tell
    } catch (NumberFormatException error) {
      return "server " + address.text() + " answers with what is no number of records";
    }
    return isEnded && answered == forwarded
        ? null
        : "server " + address.text() + " ended the connection: " + answered + " of " + forwarded
            + " records answered";
  }

  /** Passes on the complete lines, and returns the number of records that they answer. */
  private long passOn(byte[] bytes, int end, long answered, AnswerSink sink) throws InterruptedException {
    if (end == 0) {
      return 0;
    }
    if (mode == Settings.AnswerMode.EACH) {
      long lines = 0;
      for (int position = 0; position < end; position++) {
        lines += bytes[position] == '\n' ? 1 : 0;
      }
      sink.accept(bytes, end, lines);
      return lines;
    }
    int start = lastLineEnd(bytes, 0, end - 1);
    long count = Long.parseLong(new String(bytes, start, end - 1 - start, StandardCharsets.US_ASCII));
    sink.accept(bytes, 0, count - answered);
    return count - answered;
  }

  /** Position behind the last line feed of the range, or 0. */
  private static int lastLineEnd(byte[] bytes, int from, int to) {
    for (int position = to; position > from; position--) {
      if (bytes[position - 1] == '\n') {
        return position;
      }
    }
    return 0;
  }
}
