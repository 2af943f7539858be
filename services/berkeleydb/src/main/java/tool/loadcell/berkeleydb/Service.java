package tool.loadcell.berkeleydb;

import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The endpoints over HTTP. Connections belong to a few threads for I/O; each request of Berkeley DB, which
 * blocks, is passed to a worker.
 *
 * <p>Keys of random requests are decimal numbers, so that the plain requests reach them, too.
 */
final class Service implements AutoCloseable {
  private static final int MOST_KEYS = 10_000;
  private static final int NOT_FOUND = 404;

  private final ShardedStore store;
  private final Workers workers;
  private final long keyRange;
  private final Statistics statistics = new Statistics();
  /** Names of the exceptions that were printed. */
  private final Set<String> reported = ConcurrentHashMap.newKeySet();

  private final Undertow server;
  private final Map<String, HttpHandler> endpoints =
      Map.of(
          "/random_set", this::randomSet,
          "/random_get", this::randomGet,
          "/random_mget", this::randomMget,
          "/set", this::set,
          "/get", this::get,
          "/mget", this::mget,
          "/statistics", this::statistics);

  /** `keyRange` is that of random requests without one. */
  Service(String host, int port, ShardedStore store, Workers workers, long keyRange) {
    this.store = store;
    this.keyRange = keyRange;
    this.workers = workers;
    server = Undertow.builder().addHttpListener(port, host).setHandler(this::route).build();
    server.start();
  }

  int port() {
    return ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
  }

  @Override
  public void close() {
    server.stop();
  }

  private void route(HttpServerExchange exchange) {
    String path = exchange.getRequestPath();
    if (path.equals("/health")) {
      send(exchange, Parameters.bytes("ready\n"));
      return;
    }
    HttpHandler endpoint = endpoints.get(path);
    if (endpoint == null) {
      refuse(exchange, NOT_FOUND, "no endpoint " + path);
      return;
    }
    exchange.dispatch(workers.executor(), () -> serve(exchange, endpoint));
  }

  private void serve(HttpServerExchange exchange, HttpHandler endpoint) {
    try {
      exchange.startBlocking();
      endpoint.handleRequest(exchange);
    } catch (IllegalArgumentException error) {
      refuse(exchange, 400, error.getMessage());
    } catch (Exception error) { // a request that fails must not end the service
      statistics.failures.increment();
      if (reported.add(error.getClass().getName())) { // the first of each kind, as there may be thousands
        System.out.println("request failed: " + error.toString().replace('\n', ' '));
      }
      refuse(exchange, 500, error.toString());
    } finally {
      exchange.endExchange();
    }
  }

  private void randomSet(HttpServerExchange exchange) {
    Parameters parameters = new Parameters(exchange);
    byte[] key = randomKey(range(parameters));
    byte[] value = new byte[(int) parameters.number("valueSize", 0, Parameters.MOST_VALUE_BYTES)];
    ThreadLocalRandom.current().nextBytes(value);
    store.set(key, value);
    statistics.sets.increment();
    send(exchange, Parameters.bytes("stored\n"));
  }

  private void randomGet(HttpServerExchange exchange) {
    byte[] key = randomKey(range(new Parameters(exchange)));
    byte[] value = read(key);
    send(exchange, value == null ? new byte[0] : value);
  }

  private void randomMget(HttpServerExchange exchange) throws IOException {
    Parameters parameters = new Parameters(exchange);
    long range = range(parameters);
    int number = (int) parameters.number("keyNum", 1, MOST_KEYS);
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    for (int index = 0; index < number; index++) {
      append(answer, randomKey(range));
    }
    send(exchange, answer.toByteArray());
  }

  private void set(HttpServerExchange exchange) throws IOException {
    Parameters parameters = new Parameters(exchange);
    String written = parameters.optional("value");
    byte[] value =
        written == null
            ? exchange.getInputStream().readNBytes(Parameters.MOST_VALUE_BYTES)
            : Parameters.bytes(written);
    store.set(Parameters.bytes(parameters.text("key")), value);
    statistics.sets.increment();
    send(exchange, Parameters.bytes("stored\n"));
  }

  private void get(HttpServerExchange exchange) {
    String key = new Parameters(exchange).text("key");
    byte[] value = read(Parameters.bytes(key));
    if (value == null) {
      refuse(exchange, NOT_FOUND, "no value of the key " + key);
    } else {
      send(exchange, value);
    }
  }

  private void mget(HttpServerExchange exchange) throws IOException {
    List<String> keys = new Parameters(exchange).keys();
    if (keys.size() > MOST_KEYS) {
      throw new IllegalArgumentException("more than " + MOST_KEYS + " keys");
    }
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    for (String key : keys) {
      append(answer, Parameters.bytes(key));
    }
    send(exchange, answer.toByteArray());
  }

  private void statistics(HttpServerExchange exchange) {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
    send(exchange, Parameters.bytes(statistics.json(store, workers.kind())));
  }

  /** A line with the key and the length of its value, -1 without one; then the value and a line end. */
  private void append(ByteArrayOutputStream answer, byte[] key) throws IOException {
    byte[] value = read(key);
    answer.write(key);
    answer.write(Parameters.bytes(" " + (value == null ? -1 : value.length) + "\n"));
    if (value != null) {
      answer.write(value);
      answer.write('\n');
    }
  }

  private byte[] read(byte[] key) {
    byte[] value = store.get(key);
    statistics.gets.increment();
    if (value != null) {
      statistics.hits.increment();
    }
    return value;
  }

  private long range(Parameters parameters) {
    boolean isLeftOut = keyRange > 0 && parameters.optional("keyRange") == null;
    return isLeftOut ? keyRange : parameters.number("keyRange", 1, Long.MAX_VALUE - 1);
  }

  private static byte[] randomKey(long range) {
    return Parameters.bytes(Long.toString(ThreadLocalRandom.current().nextLong(range) + 1));
  }

  private static void refuse(HttpServerExchange exchange, int status, String reason) {
    if (!exchange.isResponseStarted()) {
      exchange.setStatusCode(status);
      send(exchange, Parameters.bytes(reason + "\n"));
    }
  }

  private static void send(HttpServerExchange exchange, byte[] body) {
    exchange.setResponseContentLength(body.length);
    exchange.getResponseSender().send(ByteBuffer.wrap(body));
  }
}
