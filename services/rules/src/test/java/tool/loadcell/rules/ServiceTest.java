package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.UnixDomainSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class ServiceTest {
  private RuleService service;
  private Listener listener;

  private int start(String... pairs) throws Exception {
    service = StreamClient.service(pairs);
    listener = Listener.tcp(0, service);
    return listener.port();
  }

  @AfterEach
  void stop() {
    if (listener != null) {
      listener.close();
      service.close();
    }
  }

  private HttpResponse<String> get(String path) throws Exception {
    URI address = URI.create("http://127.0.0.1:" + listener.port() + path);
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString());
  }

  private double metric(String name) throws Exception {
    return get("/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
        .sum();
  }

  @Test
  void answersWhichRulesFired() throws Exception {
    int port = start("answers", "each");
    try (StreamClient client = new StreamClient(port)) {
      client.send("0,5,0,L,1,50,x\n1,5,1,P,99500,60,x\n2,5,2,P,10,60,x\n");
      assertEquals("0\n1 r2 r3 r6 r9\n2\n", client.answers());
    }
    assertEquals(1, metric("rules_fired_total{rule=\"r9\"}"));
    assertEquals(0, metric("rules_fired_total{rule=\"r10\"}"));
    assertEquals(3, metric("rules_records_total"));
    assertEquals(3, metric("rules_retained_records"));
    assertEquals(1, metric("rules_keys"));
  }

  @Test
  void answersARecordBeforeTheStreamEnds() throws Exception {
    int port = start("answers", "each", "rules", "1");
    try (StreamClient client = new StreamClient(port)) {
      assertEquals("0\n", client.sendPart("0,5,0,P,1,50\n1,5").answer());
      assertEquals("1\n", client.sendPart(",1,P,1,50\n").answer());
      assertEquals(1, metric("rules_connections"));
    }
  }

  @Test
  void countsAreCumulativeAndFew() throws Exception {
    int port = start("rules", "1", "threads", "4");
    try (StreamClient client = new StreamClient(port)) {
      List<Long> counts = client.send(StreamClient.payments(50_000, 100)).lines().stream().map(Long::valueOf).toList();
      assertEquals(50_000, counts.get(counts.size() - 1));
      assertEquals(counts.stream().sorted().distinct().toList(), counts);
      assertTrue(counts.size() < 2_000, "lines: " + counts.size());
    }
  }

  @Test
  void withoutAnswersTheConnectionEndsWhenAllIsProcessed() throws Exception {
    int port = start("rules", "1", "answers", "none");
    try (StreamClient client = new StreamClient(port)) {
      assertEquals("", client.send(StreamClient.payments(10_000, 100)).answers());
    }
    assertEquals(10_000, metric("rules_records_total"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"locked", "lock-free"})
  void recordsOfAKeyStayInOrder(String queue) throws Exception {
    int port = start("answers", "each", "threads", "4", "rules", "2", "queue", queue);
    int keys = 37;
    try (StreamClient client = new StreamClient(port)) {
      long[] next = LongStream.range(0, keys).toArray();
      List<String> answers = client.send(StreamClient.payments(20_000, keys)).lines();
      assertEquals(20_000, answers.size());
      for (String answer : answers) {
        assertTrue(answer.endsWith(" r2"), answer);
        long number = Long.parseLong(answer.substring(0, answer.indexOf(' ')));
        assertEquals(next[(int) (number % keys)], number);
        next[(int) (number % keys)] += keys;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"locked", "lock-free"})
  void aHighWaterMarkBlocksAndLosesNothing(String queue) throws Exception {
    int port = start("answers", "each", "threads", "2", "highWater", "5", "queue", queue);
    try (StreamClient client = new StreamClient(port)) {
      assertEquals(20_000, client.send(StreamClient.payments(20_000, 10)).lines().stream().distinct().count());
    }
    assertTrue(metric("rules_high_water_hits_total") > 0);
    assertTrue(metric("rules_blocked_seconds_total") > 0);
  }

  @Test
  void aClientThatDoesNotReadIsBlocked(@TempDir Path directory) throws Exception {
    start("answers", "each", "rules", "1");
    String path = directory.resolve("rules.sock").toString();
    int records = 600_000; // their answers are larger than all buffers
    try (Listener unix = Listener.unix(path, service);
        StreamClient client = new StreamClient(UnixDomainSocketAddress.of(path))) {
      client.send(StreamClient.payments(records, 1_000));
      double before = 0;
      while (before == 0 || metric("rules_records_total") != before) {
        before = metric("rules_records_total");
        Thread.sleep(500);
      }
      assertTrue(before < records - 50_000, "processed: " + before);
      assertEquals(records, client.lines().size());
      assertEquals(records, metric("rules_records_total"));
    }
  }

  @Test
  void otherFramingAndFormat() throws Exception {
    int port = start("answers", "each", "framing", "length", "format", "json");
    String record = "{\"id\":7,\"key\":\"1\",\"time\":1,\"kind\":\"P\",\"amount\":99500,\"place\":60}";
    try (StreamClient client = new StreamClient(port)) {
      assertEquals("7 r2\n", client.send("\0\0\0" + (char) record.length() + record).answers());
    }
  }

  @Test
  void aMalformedRecordEndsTheConnectionWithAReason() throws Exception {
    int port = start("answers", "each", "rules", "1");
    try (StreamClient client = new StreamClient(port)) {
      client.sendPart("0,1,1,P,5,5\n1,1,1,P,5,5\n2,1,1,X,5,5\n" + StreamClient.payments(3_000, 3));
      assertEquals("0\n1\n! kind is neither P nor L, record 3 of the connection\n", client.answers());
    }
    try (StreamClient client = new StreamClient(port)) {
      assertEquals("0\n", client.send("0,1,1,P,5,5\n").answers(), "other connections go on");
    }
    assertEquals(1, metric("rules_malformed_records_total"));
  }

  @Test
  void aRecordAboveTheLimitEndsTheConnection() throws Exception {
    int port = start("rules", "1", "limit", "100");
    try (StreamClient client = new StreamClient(port)) {
      List<String> answers = client.send("0,1,1,P,5,5\n1,1,1,P,5,5," + "x".repeat(1_000_000)).lines();
      assertEquals(
          "! a record of more than 100 bytes (limit), record 2 of the connection", answers.get(answers.size() - 1));
    }
  }

  @Test
  void aLoadBeginsWithAnEmptyStore() throws Exception {
    int port = start("answers", "each", "threads", "4");
    String login = "0,5,0,L,1,50\n";
    String payment = "1,5,1,P,98000,60\n";
    try (StreamClient first = new StreamClient(port)) {
      assertEquals("0\n", first.sendPart(login).answer());
      try (StreamClient second = new StreamClient(port)) {
        assertEquals("1 r3 r6\n", second.send(payment).answers(), "the connections are of one load");
      }
      first.send("");
      assertEquals("", first.answers());
    }
    try (StreamClient third = new StreamClient(port)) {
      assertEquals("1\n", third.send(payment).answers());
    }
  }

  @Test
  void aClientThatLeavesDoesNotDisturbOthers() throws Exception {
    int port = start("answers", "each", "rules", "1");
    for (int round = 0; round < 5; round++) {
      StreamClient client = new StreamClient(port);
      client.sendPart(StreamClient.payments(2_000, 3));
      client.close();
    }
    try (StreamClient client = new StreamClient(port)) {
      assertEquals(1_000, client.send(StreamClient.payments(1_000, 3)).lines().size());
    }
    while (metric("rules_connections") > 0) {
      Thread.sleep(5);
    }
  }

  @Test
  void requestsOfHttp() throws Exception {
    int port = start("rules", "1", "threads", "2");
    assertEquals("ready\n", get("/health").body());
    assertEquals(404, get("/nothing").statusCode());
    assertTrue(get("/metrics").body().contains("rules_queue_records{thread=\"1\"} 0\n"));
    try (StreamClient client = new StreamClient(port)) {
      client.sendPart("GE");
      Thread.sleep(20);
      assertTrue(client.sendPart("T /health HTTP/1.1\r\n\r\n").answers().startsWith("HTTP/1.1 200 OK\r\n"));
    }
  }

  @Test
  void listensAtAUnixSocket(@TempDir Path directory) throws Exception {
    start("answers", "each");
    Path path = directory.resolve("rules.sock");
    try (Listener unix = Listener.unix(path.toString(), service)) {
      try (StreamClient client = new StreamClient(UnixDomainSocketAddress.of(path))) {
        assertEquals("0 r2\n", client.send(StreamClient.payments(1, 1)).answers());
      }
      assertThrows(IllegalArgumentException.class, () -> Listener.unix(path.toString(), service));
    }
    Path file = Files.writeString(directory.resolve("file"), "x");
    String tooLong = directory.resolve("x".repeat(200)).toString();
    for (String wrong : List.of(file.toString(), directory.toString(), tooLong)) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> Listener.unix(wrong, service));
      assertTrue(error.getMessage().startsWith("-Dsocket=" + wrong), error.getMessage());
    }
    assertEquals("x", Files.readString(file));
  }

  @Test
  void aWrongSettingIsNamed() {
    for (String[] pair :
        new String[][] {
          {"port", "x"}, {"rules", "11"}, {"rules", "0"}, {"threads", "0"}, {"queue", "none"},
          {"answers", "all"}, {"framing", "LINE"}, {"format", ""}, {"highWater", "0"}, {"retained", "-1"}
        }) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> StreamClient.settings(pair));
      assertTrue(error.getMessage().contains("-D" + pair[0] + "=" + pair[1]), error.getMessage());
    }
    assertEquals(Settings.QueueKind.LOCK_FREE, StreamClient.settings("queue", "lock-free").queue);
    for (String address : List.of("host", "host:", ":80", "host:0", "host:x", "host:99999")) {
      assertThrows(IllegalArgumentException.class, () -> ServerAddress.of(address), address);
    }
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> ServerAddress.of("nohost.invalid:9000"));
    assertEquals("-Dservers: the host of nohost.invalid:9000 has no address", error.getMessage());
  }

  @Test
  void keysAreSpreadOverThreadsOfEachServer() {
    int[] counts = new int[8];
    for (long key = 0; key < 8_000; key++) {
      counts[KeyHash.server(key, 2) * 4 + KeyHash.thread(key, 4)]++;
    }
    List<Integer> uneven = new ArrayList<>();
    Arrays.stream(counts).filter(count -> count < 850 || count > 1_150).forEach(uneven::add);
    assertEquals(List.of(), uneven);
  }
}
