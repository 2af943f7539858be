package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CoordinatorTest {
  private final List<Node> nodes = new ArrayList<>();
  /** Of the servers, then of the coordinator. */
  private final List<Listener> listeners = new ArrayList<>();

  private int start(int servers, String... pairs) throws Exception {
    List<String> addresses = new ArrayList<>();
    for (int server = 0; server < servers; server++) {
      addresses.add("127.0.0.1:" + listen(StreamClient.service(pairs)));
    }
    return listen(new Coordinator(StreamClient.settings(pairs), addresses));
  }

  private int listen(Node node) throws Exception {
    nodes.add(node);
    listeners.add(Listener.tcp(0, node));
    return listeners.get(listeners.size() - 1).port();
  }

  @AfterEach
  void stop() {
    listeners.forEach(Listener::close);
    nodes.forEach(Node::close);
  }

  @Test
  void forwardsByKeyAndSumsCounts() throws Exception {
    int port = start(2, "rules", "1");
    try (StreamClient client = new StreamClient(port)) {
      List<String> counts = client.send(StreamClient.payments(20_000, 100)).lines();
      assertEquals("20000", counts.get(counts.size() - 1));
    }
    for (Node server : nodes.subList(0, 2)) {
      double records =
          Double.parseDouble(server.metrics().replaceAll("(?s).*\nrules_records_total (\\d+).*", "$1"));
      assertTrue(records > 5_000 && records < 15_000, "records: " + records);
    }
    String metrics = nodes.get(2).metrics();
    assertTrue(metrics.contains("rules_forwarded_total 20000\n"));
    assertTrue(metrics.contains("rules_records_total 20000\n"), metrics);
    assertTrue(metrics.contains("rules_servers 2\n"));
  }

  @Test
  void passesOnTheAnswerOfEachRecord() throws Exception {
    int port = start(2, "answers", "each", "rules", "2", "threads", "2");
    try (StreamClient client = new StreamClient(port)) {
      List<String> answers = client.send(StreamClient.payments(20_000, 100)).lines();
      List<String> expected = IntStream.range(0, 20_000).mapToObj(number -> number + " r2").toList();
      assertEquals(20_000, answers.size());
      assertEquals(new HashSet<>(expected), new HashSet<>(answers));
    }
  }

  @Test
  void withoutAnswersItWaitsForTheServers() throws Exception {
    int port = start(1, "answers", "none", "rules", "1");
    try (StreamClient client = new StreamClient(port)) {
      assertEquals("", client.send(StreamClient.payments(5_000, 100)).answers());
    }
    assertTrue(nodes.get(0).metrics().contains("rules_records_total 5000\n"));
  }

  @Test
  void recordsLargerThanItsBufferPass() throws Exception {
    int port = start(2, "limit", "1000000", "rules", "1");
    String large = "0,1,1,P,5,5," + "x".repeat(300_000) + "\n";
    try (StreamClient client = new StreamClient(port)) {
      List<String> answers = client.send("0,1,1,P,5,5\n" + large + large).lines();
      assertEquals("3", answers.get(answers.size() - 1));
    }
  }

  @Test
  void aServerThatDiesEndsTheConnection() throws Exception {
    int port = start(2, "answers", "each", "rules", "1");
    try (StreamClient client = new StreamClient(port)) {
      client.sendPart("0,1,0,P,5,5\n");
      assertEquals("0\n", client.answer());
      listeners.get(0).close();
      listeners.get(1).close();
      List<String> answers = client.lines();
      assertTrue(answers.get(0).matches("! server 127.0.0.1:\\d+ ended the connection: . of . records answered"));
    }
    assertTrue(nodes.get(2).notReady().contains("cannot be reached"));
    try (StreamClient client = new StreamClient(port)) {
      assertTrue(client.send("0,1,0,P,5,5\n").answers().contains("cannot be reached"));
    }
  }

  @Test
  void aServerThatDiesUnderLoadEndsTheConnection() throws Exception {
    int port = start(2, "rules", "10", "highWater", "100");
    try (StreamClient client = new StreamClient(port)) {
      client.send(StreamClient.payments(3_000_000, 100));
      client.answer();
      listeners.get(1).close();
      List<String> answers = client.lines();
      String last = answers.get(answers.size() - 1);
      assertTrue(last.startsWith("! server 127.0.0.1:"), last);
    }
  }

  @Test
  void malformedRecordsAreAnsweredByIt() throws Exception {
    int port = start(2, "answers", "each", "rules", "1");
    assertNull(nodes.get(2).notReady());
    try (StreamClient client = new StreamClient(port)) {
      String answers = client.sendPart("0,1,0,P,5,5\n1,2,0,P,5\n").answers();
      assertEquals("0\n! no comma after amount, record 2 of the connection\n", answers);
    }
  }

  @Test
  void anErrorOfAServerReachesTheClient() throws Exception {
    int server = listen(StreamClient.service("rules", "1", "limit", "20"));
    int port =
        listen(new Coordinator(StreamClient.settings(), List.of("127.0.0.1:" + server)));
    try (StreamClient client = new StreamClient(port)) {
      List<String> answers = client.send("0,1,0,P,5,5\n1,1,0,P,5,5," + "x".repeat(50) + "\n").lines();
      assertEquals(
          "! server 127.0.0.1:" + server
              + ": a record of more than 20 bytes (limit), record 2 of the connection",
          answers.get(answers.size() - 1));
    }
  }
}
