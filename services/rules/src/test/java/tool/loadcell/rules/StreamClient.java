package tool.loadcell.rules;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

/** Client for the tests, and settings for them. */
final class StreamClient implements AutoCloseable {
  private static final Map<Integer, CompiledRules> COMPILED = new ConcurrentHashMap<>();

  private final SocketChannel channel;

  StreamClient(SocketAddress address) throws IOException {
    channel = SocketChannel.open(address);
  }

  StreamClient(int port) throws IOException {
    this(new InetSocketAddress("127.0.0.1", port));
  }

  static Settings settings(String... pairs) {
    Properties properties = new Properties();
    for (int index = 0; index < pairs.length; index += 2) {
      properties.setProperty(pairs[index], pairs[index + 1]);
    }
    return Settings.of(properties);
  }

  /** A service; the rules are compiled once for each number of them. */
  static RuleService service(String... pairs) {
    Settings settings = settings(pairs);
    return new RuleService(settings, COMPILED.computeIfAbsent(settings.rules, CompiledRules::new));
  }

  /** Payments with the numbers from 0, of this number of keys in turn. Each fires rule 2. */
  static String payments(int count, int keys) {
    StringBuilder text = new StringBuilder();
    for (int number = 0; number < count; number++) {
      text.append(number).append(',').append(number % keys).append(',').append(number);
      text.append(",P,99500,60,padding\n");
    }
    return text.toString();
  }

  /** Sends all from a thread, so that answers can be read meanwhile. */
  StreamClient send(String text) {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
    Thread thread =
        new Thread(
            () -> {
              try {
                while (bytes.hasRemaining()) {
                  channel.write(bytes);
                }
                channel.shutdownOutput();
              } catch (IOException closed) {
                // the test looks at the answers
              }
            });
    thread.setDaemon(true);
    thread.start();
    return this;
  }

  /** Sends, and leaves the connection open. */
  StreamClient sendPart(String text) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
    return this;
  }

  /** All answers up to the end of the connection. */
  String answers() throws IOException {
    ByteArrayOutputStream answers = new ByteArrayOutputStream();
    ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
    while (channel.read(buffer) >= 0) {
      answers.write(buffer.array(), 0, buffer.position());
      buffer.clear();
    }
    return answers.toString(StandardCharsets.UTF_8);
  }

  List<String> lines() throws IOException {
    return answers().lines().toList();
  }

  /** One answer, of a few bytes. */
  String answer() throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(1 << 10);
    int number = channel.read(buffer);
    return new String(buffer.array(), 0, Math.max(number, 0), StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
