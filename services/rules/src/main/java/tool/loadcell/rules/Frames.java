package tool.loadcell.rules;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;

/**
 * The frames of a connection, one after the other, in a buffer that is reused. `line`: payloads that end with
 * a line feed. `length`: each payload after its length, 4 bytes in network order.
 */
final class Frames {
  /** Called before a read, which may block: what is collected for others has to be passed on. */
  interface BeforeRead {
    void run() throws IOException;
  }

  private static final int BUFFER_BYTES = 1 << 17;
  private static final int LENGTH_BYTES = 4;
  private static final long LINE_FEEDS = 0x0A0A0A0A0A0A0A0AL;
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final ReadableByteChannel channel;
  private final boolean isLine;
  private final int limitBytes;
  private final BeforeRead beforeRead;
  private byte[] bytes;
  private ByteBuffer buffer;
  /** End of the bytes that were read. */
  private int end;
  private int frameStart;
  private int payloadStart;
  private int payloadEnd;
  private int frameEnd;

  /** `first` are bytes of the connection that were read already. */
  Frames(ReadableByteChannel channel, byte[] first, Settings settings, BeforeRead beforeRead) {
    this.channel = channel;
    this.beforeRead = beforeRead;
    isLine = settings.framing == Settings.Framing.LINE;
    limitBytes = settings.limitBytes;
    bytes = Arrays.copyOf(first, Math.max(BUFFER_BYTES, first.length));
    buffer = ByteBuffer.wrap(bytes);
    end = first.length;
  }

  /** Moves to the next frame. False at the end of the stream. */
  boolean next() throws IOException, MalformedRecord {
    frameStart = frameEnd;
    int searched = frameStart;
    while (isLine ? !lineFrom(searched) : !lengthFrame()) {
      searched = end - frameStart; // where the new bytes begin, as the frame moves to the start
      if (!read()) {
        frameEnd = 0;
        if (end > 0) {
          throw new MalformedRecord("the stream ends within a record");
        }
        return false;
      }
    }
    return true;
  }

  byte[] bytes() {
    return bytes;
  }

  int payloadStart() {
    return payloadStart;
  }

  int payloadEnd() {
    return payloadEnd;
  }

  int frameStart() {
    return frameStart;
  }

  int frameEnd() {
    return frameEnd;
  }

  /** Reads and discards up to the end of the stream. */
  void discard() throws IOException {
    do {
      buffer.clear();
    } while (channel.read(buffer) >= 0);
  }

  private boolean lineFrom(int searched) throws MalformedRecord {
    int position = lineFeed(searched);
    payloadStart = frameStart;
    payloadEnd = position;
    frameEnd = position + 1;
    checkLimit(position - frameStart);
    return position < end;
  }

  /** Position of the next line feed, or the end of the bytes. Compares eight bytes at a time. */
  private int lineFeed(int from) {
    int position = from;
    for (; position + Long.BYTES <= end; position += Long.BYTES) {
      long different = (long) WORD.get(bytes, position) ^ LINE_FEEDS;
      long zeros = (different - ONES) & ~different & HIGH_BITS;
      if (zeros != 0) {
        return position + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    while (position < end && bytes[position] != '\n') {
      position++;
    }
    return position;
  }

  private boolean lengthFrame() throws MalformedRecord {
    if (end - frameStart < LENGTH_BYTES) {
      return false;
    }
    long length = Integer.toUnsignedLong(buffer.getInt(frameStart));
    checkLimit(length);
    payloadStart = frameStart + LENGTH_BYTES;
    payloadEnd = payloadStart + (int) length;
    frameEnd = payloadEnd;
    return payloadEnd <= end;
  }

  private void checkLimit(long length) throws MalformedRecord {
    if (length > limitBytes) {
      throw new MalformedRecord("a record of more than " + limitBytes + " bytes (limit)");
    }
  }

  /** Reads more bytes behind those of the frame that has begun. False at the end of the stream. */
  private boolean read() throws IOException {
    if (frameStart > 0) {
      System.arraycopy(bytes, frameStart, bytes, 0, end - frameStart);
      end -= frameStart;
      frameStart = 0;
    }
    if (end == bytes.length) {
      bytes = Arrays.copyOf(bytes, (int) Math.min(2L * bytes.length, limitBytes + 8L));
      buffer = ByteBuffer.wrap(bytes);
    }
    beforeRead.run();
    buffer.limit(bytes.length).position(end);
    int number = channel.read(buffer);
    end += Math.max(number, 0);
    return number >= 0;
  }
}
