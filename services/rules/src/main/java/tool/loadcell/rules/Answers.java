package tool.loadcell.rules;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The answers of a connection: collected from several threads, written by one of its own. While it writes,
 * the next ones collect, so that a write has many. A client that does not read its answers blocks, once the
 * buffer is full, the threads that answer it, and so in the end its own stream.
 *
 * <p>The end: the reader of the connection reports how many records it has passed on. Once all are answered,
 * the thread writes the error line if there is one, and closes the connection.
 */
final class Answers {
  private static final int BUFFER_BYTES = 1 << 20;
  private static final long COUNT_INTERVAL_MS = 10;
  private static final long COUNT_RECORDS = 1_000;
  /** How long an error line may take to reach the client, before the connection is closed anyway. */
  private static final long ERROR_WAIT_MS = 1_000;

  /** Number of records of a connection that ends without waiting for answers. */
  private static final long NO_WAIT = -1;

  private final SocketChannel channel;
  private final boolean isCount;
  private final Runnable beforeClose;
  private final Thread thread = new Thread(this::run, "answers");
  private final CountDownLatch inputEnded = new CountDownLatch(1);

  // All of these under the lock of this object.
  private byte[] buffer = new byte[4096];
  private int length;
  private long processed;
  private long received = Long.MAX_VALUE;
  private String error;
  private boolean isBroken;

  /** `beforeClose` is run after the last answer, before the client can see that the connection ends. */
  Answers(SocketChannel channel, Settings.AnswerMode mode, Runnable beforeClose) {
    this.channel = channel;
    this.beforeClose = beforeClose;
    isCount = mode == Settings.AnswerMode.COUNT;
    thread.setDaemon(true);
    thread.start();
  }

  /** Passes on the answers of a thread. */
  void add(AnswerBatch batch) throws InterruptedException {
    add(batch.bytes(), batch.length(), batch.records());
  }

  /** Passes on `records` answers as lines; without lines if the client does not get one for each. */
  synchronized void add(byte[] lines, int size, long records) throws InterruptedException {
    while (length > BUFFER_BYTES && !isBroken && received != NO_WAIT) {
      wait();
    }
    if (size > 0 && !isBroken) {
      if (buffer.length - length < size) {
        buffer = Arrays.copyOf(buffer, Math.max(2 * buffer.length, length + size));
      }
      System.arraycopy(lines, 0, buffer, length, size);
      length += size;
    }
    processed += records;
    notifyAll();
  }

  /** The connection had this number of records. `reason` is null, or why it ends before its time. */
  synchronized void finish(long records, String reason) {
    if (received == Long.MAX_VALUE) {
      received = records;
      error = reason;
      notifyAll();
    }
  }

  /** The connection ends at once, without the answers that are missing. The first reason is reported. */
  synchronized void fail(String reason) {
    if (received != NO_WAIT) {
      received = NO_WAIT;
      error = reason;
      notifyAll();
    }
  }

  /** Nothing more is read from the connection. */
  void inputEnded() {
    inputEnded.countDown();
  }

  /** Whether the connection ends after this time at the latest. */
  boolean isClosedWithin(long milliseconds) throws InterruptedException {
    thread.join(milliseconds);
    return !thread.isAlive();
  }

  private void run() {
    try {
      write();
      end();
    } catch (InterruptedException stop) {
      // nothing interrupts this thread
    } finally {
      Channels.close(channel);
    }
  }

  private void write() throws InterruptedException {
    try {
      if (isCount) {
        writeCounts();
      } else {
        writeLines();
      }
    } catch (IOException broken) {
      breakOff();
    }
  }

  private void writeLines() throws IOException, InterruptedException {
    byte[] spare = new byte[buffer.length];
    while (true) {
      ByteBuffer lines;
      synchronized (this) {
        while (length == 0 && !isComplete()) {
          wait();
        }
        if (length == 0) {
          return;
        }
        lines = ByteBuffer.wrap(buffer, 0, length);
        buffer = spare;
        length = 0;
        notifyAll();
      }
      write(lines);
      spare = lines.array();
    }
  }

  private void writeCounts() throws IOException, InterruptedException {
    long written = 0;
    long lastNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(COUNT_INTERVAL_MS);
    while (true) {
      synchronized (this) {
        while (processed == written && !isComplete()) {
          wait();
        }
        if (processed == written) {
          return;
        }
        long elapsedMs = (System.nanoTime() - lastNs) / 1_000_000;
        while (processed - written < COUNT_RECORDS && elapsedMs < COUNT_INTERVAL_MS && !isComplete()) {
          wait(COUNT_INTERVAL_MS - elapsedMs);
          elapsedMs = (System.nanoTime() - lastNs) / 1_000_000;
        }
        written = processed;
      }
      write(ByteBuffer.wrap((written + "\n").getBytes(StandardCharsets.US_ASCII)));
      lastNs = System.nanoTime();
    }
  }

  private boolean isComplete() {
    return processed >= received;
  }

  /** The client is gone: answers are discarded from now on, so that they block nothing. */
  private synchronized void breakOff() throws InterruptedException {
    isBroken = true;
    length = 0;
    notifyAll();
    while (!isComplete()) {
      wait();
    }
  }

  private void end() throws InterruptedException {
    beforeClose.run();
    try {
      if (error != null && !isBroken) {
        write(ByteBuffer.wrap(("! " + error + "\n").getBytes(StandardCharsets.UTF_8)));
      }
      channel.shutdownOutput();
      // A connection that is closed while bytes of the client are unread is reset, and the line lost.
      inputEnded.await(ERROR_WAIT_MS, TimeUnit.MILLISECONDS);
    } catch (IOException gone) {
      // the client does not wait for it
    }
  }

  private void write(ByteBuffer lines) throws IOException {
    while (lines.hasRemaining()) {
      channel.write(lines);
    }
  }
}
