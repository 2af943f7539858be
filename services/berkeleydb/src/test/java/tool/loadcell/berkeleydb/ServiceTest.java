package tool.loadcell.berkeleydb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServiceTest {
  @TempDir Path data;
  private final HttpClient client = HttpClient.newHttpClient();
  private ShardedStore store;
  private Service service;
  private Workers workers;

  @BeforeEach
  void start() throws Exception {
    store = new ShardedStore(data, 4, settings().je);
    workers = Workers.of(null);
    service = new Service("127.0.0.1", 0, store, workers, 0);
  }

  @AfterEach
  void stop() {
    service.close();
    workers.close();
    store.close();
  }

  private static Settings settings(String... pairs) {
    Properties properties = new Properties();
    properties.setProperty("je.maxMemory", "20000000");
    for (int index = 0; index < pairs.length; index += 2) {
      properties.setProperty(pairs[index], pairs[index + 1]);
    }
    return Settings.of(properties);
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + service.port() + path));
  }

  private HttpResponse<byte[]> get(String path) throws Exception {
    return client.send(request(path).build(), BodyHandlers.ofByteArray());
  }

  private String text(String path) throws Exception {
    return new String(get(path).body());
  }

  @Test
  void readsBackWhatItWrote() throws Exception {
    byte[] value = new byte[5_000];
    value[7] = (byte) 200;
    HttpResponse<String> stored =
        client.send(
            request("/set?key=some%20key").POST(HttpRequest.BodyPublishers.ofByteArray(value)).build(),
            BodyHandlers.ofString());
    assertEquals("stored\n", stored.body());
    assertArrayEquals(value, get("/get?key=some%20key").body());
    assertEquals("stored\n", text("/set?key=a&value=one"));
    assertEquals("stored\n", text("/set?key=a&value=two"));
    assertEquals("a 3\ntwo\nmissing -1\n", text("/mget?keys=a,missing"));
  }

  @Test
  void aKeyWithoutAValueIsNotFound() throws Exception {
    assertEquals(404, get("/get?key=none").statusCode());
    assertEquals(404, get("/nothing").statusCode());
    assertEquals(200, get("/health").statusCode());
  }

  @Test
  void randomKeysAreNumbersOfTheRange() throws Exception {
    for (int index = 0; index < 50; index++) {
      assertEquals("stored\n", text("/random_set?keyRange=3&valueSize=10"));
    }
    assertEquals(10, get("/get?key=1").body().length);
    assertEquals(10, get("/get?key=3").body().length);
    assertEquals(404, get("/get?key=0").statusCode());
    assertEquals(404, get("/get?key=4").statusCode());
    assertEquals(10, get("/random_get?keyRange=3").body().length);
    assertEquals(20 * "1 10\n0123456789\n".length(), get("/random_mget?keyRange=3&keyNum=20").body().length);
    assertEquals(0, get("/random_get?keyRange=900000000000").body().length);
  }

  @Test
  void aWrongParameterIsNamed() throws Exception {
    for (String path :
        List.of(
            "/random_set?keyRange=0&valueSize=1",
            "/random_set?keyRange=5",
            "/random_get?keyRange=x",
            "/random_mget?keyRange=5&keyNum=99999",
            "/get",
            "/mget?keys=")) {
      HttpResponse<byte[]> answer = get(path);
      assertEquals(400, answer.statusCode(), path);
      assertTrue(new String(answer.body()).matches("(?s).*(keyRange|valueSize|keyNum|key|keys).*"), path);
    }
  }

  @Test
  void statisticsHaveCountersAndThoseOfEachShard() throws Exception {
    text("/set?key=a&value=one");
    text("/get?key=a");
    text("/get?key=b");
    String statistics = text("/statistics");
    assertTrue(statistics.contains("\"sets\": 1,"), statistics);
    assertTrue(statistics.contains("\"gets\": 2,"));
    assertTrue(statistics.contains("\"hits\": 1,"));
    assertEquals(4, statistics.split("\"cacheTotalBytes\"", -1).length - 1);
  }

  @Test
  void holdsManyConnections() throws Exception {
    List<CompletableFuture<HttpResponse<byte[]>>> answers = new ArrayList<>();
    for (int index = 0; index < 250; index++) {
      answers.add(
          client.sendAsync(
              request("/random_set?keyRange=100&valueSize=100").build(), BodyHandlers.ofByteArray()));
    }
    for (CompletableFuture<HttpResponse<byte[]>> answer : answers) {
      assertEquals(200, answer.get().statusCode());
    }
  }

  @Test
  void settingsOfBerkeleyDbArePassedOn(@TempDir Path other) throws Exception {
    Settings settings = settings("je.lock.nLockTables", "7", "other", "x");
    assertEquals("7", settings.je.getProperty("je.lock.nLockTables"));
    assertFalse(settings.je.containsKey("other"));
    Settings wrong = settings("je.noSuchSetting", "1");
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> new ShardedStore(other, 1, wrong.je));
    assertTrue(error.getMessage().contains("je.noSuchSetting"), error.getMessage());
  }

  @Test
  void sizesMayBeSharesOfTheHeap() {
    long heap = Runtime.getRuntime().maxMemory();
    Settings settings = settings("fill", "120%", "fillValueSize", "1000", "offHeap", "40%", "shards", "4");
    assertEquals(heap * 120 / 100 / 1000, settings.fillKeys);
    assertEquals(Long.toString(heap * 40 / 100 / 4), settings.je.getProperty("je.maxOffHeapMemory"));
    assertFalse(settings("fill", "7").je.containsKey("je.maxOffHeapMemory"));
    assertThrows(IllegalArgumentException.class, () -> settings("fill", "x%"));
  }

  @Test
  void randomRequestsWithoutARangeTakeThatOfTheFill() throws Exception {
    service.close();
    service = new Service("127.0.0.1", 0, store, workers, 1);
    assertEquals("stored\n", text("/random_set?valueSize=5"));
    assertEquals(5, get("/get?key=1").body().length);
    assertEquals(5, get("/random_get").body().length);
  }

  @Test
  void aWrongSettingIsNamed() {
    for (String[] pair : new String[][] {{"shards", "0"}, {"port", "x"}, {"fill", "-1"}}) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> settings(pair[0], pair[1]));
      assertTrue(error.getMessage().contains("-D" + pair[0]));
    }
    assertThrows(IllegalArgumentException.class, () -> Workers.of("many"));
  }

  @Test
  void fillsOnceAndKeepsTheData(@TempDir Path other) throws Exception {
    Settings settings = settings("fill", "200", "fillValueSize", "50", "data", other.toString());
    try (ShardedStore first = FilledStore.open(settings)) {
      assertEquals(200, first.count());
      first.set(Parameters.bytes("1"), new byte[1]);
    }
    try (ShardedStore again = FilledStore.open(settings)) {
      assertEquals(1, again.get(Parameters.bytes("1")).length);
      assertEquals(50, again.get(Parameters.bytes("200")).length);
    }
  }

  @Test
  void levelsHaveDataOfTheirOwn(@TempDir Path other) throws Exception {
    for (String[] level :
        new String[][] {{"200", "50"}, {"200", "500"}, {"100", "500"}, {"200", "50"}}) {
      Settings settings =
          settings("fill", level[0], "fillValueSize", level[1], "data", other.toString());
      try (ShardedStore store = FilledStore.open(settings)) {
        assertEquals(Integer.parseInt(level[0]), store.count());
        assertEquals(Integer.parseInt(level[1]), store.get(Parameters.bytes("7")).length);
      }
    }
  }

  @Test
  void anInterruptedFillBeginsAnew(@TempDir Path other) throws Exception {
    Settings settings = settings("fill", "20", "fillValueSize", "50", "data", other.toString());
    try (ShardedStore interrupted = new ShardedStore(settings.data, 1, settings.je)) {
      for (int key = 1; key <= 20; key++) {
        interrupted.set(Parameters.bytes("partial " + key), new byte[9]);
      }
    }
    try (ShardedStore store = FilledStore.open(settings)) {
      assertEquals(20, store.count());
      assertEquals(50, store.get(Parameters.bytes("20")).length);
    }
  }

  @Test
  void aShareWithoutPercentIsRefused() {
    for (String[] pair :
        new String[][] {{"offHeap", "40"}, {"offHeap", "1GiB"}, {"fill", "1GiB"}, {"offHeap", "x%"}}) {
      IllegalArgumentException error =
          assertThrows(
              IllegalArgumentException.class, () -> settings(pair[0], pair[1], "shards", "4"));
      assertTrue(error.getMessage().contains("-D" + pair[0]), error.getMessage());
    }
  }
}
