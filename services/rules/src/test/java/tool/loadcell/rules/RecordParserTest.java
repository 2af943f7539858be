package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecordParserTest {
  private static StreamRecord parsed(Settings.Format format, String text) throws Exception {
    byte[] line = (text + "\n").getBytes(StandardCharsets.UTF_8);
    Frames frames =
        new Frames(
            Channels.newChannel(new ByteArrayInputStream(line)),
            new byte[0],
            Settings.of(new Properties()),
            () -> {});
    assertTrue(frames.next());
    return RecordParser.of(format).parse(frames);
  }

  private static void assertRecord(StreamRecord record) {
    assertEquals(17, record.number);
    assertEquals(3, record.key);
    assertEquals(170, record.time);
    assertEquals(99_000, record.amount);
    assertEquals(42, record.place);
  }

  @Test
  void readsValuesJoinedByCommas() throws Exception {
    assertRecord(parsed(Settings.Format.CSV, "17,3,170,P,99000,42,abcdef"));
    assertRecord(parsed(Settings.Format.CSV, "17,3,170,L,99000,42"));
    assertTrue(parsed(Settings.Format.CSV, "17,3,170,P,99000,42,").isPayment);
    assertTrue(!parsed(Settings.Format.CSV, "17,3,170,L,99000,42\r").isPayment);
  }

  @Test
  void readsObjects() throws Exception {
    assertRecord(
        parsed(
            Settings.Format.JSON,
            "{\"id\":17,\"key\":\"3\",\"time\":170,\"kind\":\"P\",\"amount\":99000,\"place\":42,\"padding\":\"ab\"}"));
    assertRecord(
        parsed(
            Settings.Format.JSON,
            " { \"x\" : \"a\\\"},{\", \"y\": true, \"place\" : 42, \"amount\": 99000 , \"kind\": \"L\","
                + "\"time\":170,\"key\":3,\"id\":17 } "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "x", "1", "1,2", "1,2,3", "1,2,3,P", "1,2,3,P,4", "1,2,3,P,4,", "1,2,3,Q,4,5", "1,2,3,,4,5",
        "-1,2,3,P,4,5", "1,2,3,P,4,5x", "1,2,3,P,4.5,6", "1,2,3,P,99999999999,6", "1,,3,P,4,5",
        "1234567890123456789,2,3,P,4,5", "1,2,3,PP,4,5"
      })
  void malformedValuesHaveAReason(String text) {
    MalformedRecord error =
        assertThrows(MalformedRecord.class, () -> parsed(Settings.Format.CSV, text));
    assertTrue(error.getMessage().matches(".*(id|key|time|kind|amount|place).*"), error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "{", "{}", "[1]", "{\"id\"}", "{\"id\":}", "{\"id\":1", "{\"id\":1}", "{\"id\":\"1}", "{\"id\":1.5}",
        "{\"a\":\"\\", "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":}", "{\"kind\":\"Q\"}", "{\"kind\":\"", "{\"a",
        "{\"id\":1,\"key\":2,\"time\":3,\"kind\":\"P\",\"amount\":4,\"place\":5} x",
        "{\"id\":1,\"key\":2,\"time\":3,\"kind\":\"PL\",\"amount\":4,\"place\":5}"
      })
  void malformedObjectsHaveAReason(String text) {
    assertThrows(MalformedRecord.class, () -> parsed(Settings.Format.JSON, text));
  }
}
