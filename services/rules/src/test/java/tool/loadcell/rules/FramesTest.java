package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class FramesTest {
  private static Settings settings(String framing, int limit) {
    Properties properties = new Properties();
    properties.setProperty("framing", framing);
    properties.setProperty("limit", Integer.toString(limit));
    return Settings.of(properties);
  }

  /** A stream that returns a few bytes for each read. */
  private static InputStream slow(String text, int mostBytes) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)) {
      @Override
      public synchronized int read(byte[] bytes, int offset, int length) {
        return super.read(bytes, offset, Math.min(length, mostBytes));
      }
    };
  }

  private static List<String> payloads(String first, InputStream stream, Settings settings)
      throws Exception {
    byte[] start = first.getBytes(StandardCharsets.ISO_8859_1);
    Frames frames = new Frames(Channels.newChannel(stream), start, settings, () -> {});
    List<String> payloads = new ArrayList<>();
    while (frames.next()) {
      int length = frames.payloadEnd() - frames.payloadStart();
      payloads.add(
          new String(frames.bytes(), frames.payloadStart(), length, StandardCharsets.ISO_8859_1));
    }
    return payloads;
  }

  @Test
  void linesAreFoundHoweverTheyArrive() throws Exception {
    List<String> lines = List.of("a", "", "a line of more than eight bytes", "\u008a\u00ff", "x".repeat(200_000));
    String text = String.join("\n", lines) + "\n";
    for (int bytes : new int[] {1, 3, 8, 1_000, 1 << 20}) {
      assertEquals(lines, payloads("", slow(text, bytes), settings("line", 200_000)));
      String shorter = text.substring(0, text.indexOf('x'));
      assertEquals(
          payloads("", slow(shorter, 1 << 20), settings("line", 100)),
          payloads(shorter.substring(0, 3), slow(shorter.substring(3), bytes), settings("line", 100)));
    }
  }

  @Test
  void payloadsAfterALengthMayContainAnything() throws Exception {
    String text = "\0\0\0\3a\nb\0\0\0\0\0\0\1\0" + "y".repeat(256);
    for (int bytes : new int[] {1, 5, 1 << 20}) {
      assertEquals(
          List.of("a\nb", "", "y".repeat(256)), payloads("", slow(text, bytes), settings("length", 256)));
    }
  }

  @Test
  void aFrameAboveTheLimitIsMalformed() throws Exception {
    assertEquals(1, payloads("", slow("12345\n", 100), settings("line", 5)).size());
    for (String[] stream : new String[][] {{"line", "123456\n"}, {"line", "123456"}, {"length", "\0\0\0\6"}}) {
      MalformedRecord error =
          assertThrows(
              MalformedRecord.class, () -> payloads("", slow(stream[1], 2), settings(stream[0], 5)));
      assertTrue(error.getMessage().contains("more than 5 bytes"), error.getMessage());
    }
    assertThrows(
        MalformedRecord.class, () -> payloads("", slow("\u00ff\0\0\0", 9), settings("length", 1 << 28)));
  }

  @Test
  void aStreamMustNotEndWithinARecord() {
    for (String[] stream : new String[][] {{"line", "1\n2"}, {"length", "\0\0"}, {"length", "\0\0\0\2x"}}) {
      MalformedRecord error =
          assertThrows(
              MalformedRecord.class, () -> payloads("", slow(stream[1], 9), settings(stream[0], 99)));
      assertTrue(error.getMessage().contains("ends within a record"), error.getMessage());
    }
  }
}
