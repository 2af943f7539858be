package tool.loadcell.rules;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Accepts connections at one address, each with a thread. One that begins with `GET ` is a request of HTTP, any
 * other a stream.
 */
final class Listener implements AutoCloseable {
  private static final int FIRST_BYTES = 1 << 16;

  private final ServerSocketChannel server;
  private final Node node;
  /** Path of the Unix socket, or null. */
  private final Path path;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();

  private Listener(ServerSocketChannel server, Path path, Node node) {
    this.server = server;
    this.path = path;
    this.node = node;
    start(this::accept, "listener");
  }

  /** Port 0 is a free one. */
  static Listener tcp(String host, int port, Node node) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress(host, port), 1024);
    return new Listener(server, null, node);
  }

  /** Raises IllegalArgumentException for a path that cannot be a socket. */
  static Listener unix(String name, Node node) throws IOException {
    Path path = Path.of(name);
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      removeUnused(path);
    }
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      server.bind(UnixDomainSocketAddress.of(path), 1024);
    } catch (IOException error) {
      Channels.close(server);
      throw new IllegalArgumentException("-Dsocket=" + name + ": " + error.getMessage(), error);
    }
    return new Listener(server, path, node);
  }

  private static void removeUnused(Path path) throws IOException {
    if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS) || Files.isDirectory(path)) {
      throw new IllegalArgumentException("-Dsocket=" + path + " is a file or a directory, not a socket");
    }
    try {
      Channels.close(SocketChannel.open(UnixDomainSocketAddress.of(path)));
    } catch (IOException refused) {
      Files.delete(path); // of a process that has ended
      return;
    }
    throw new IllegalArgumentException("-Dsocket=" + path + " is the socket of a running process");
  }

  int port() throws IOException {
    return ((InetSocketAddress) server.getLocalAddress()).getPort();
  }

  @Override
  public void close() {
    Channels.close(server);
    open.forEach(Channels::close);
    if (path != null) {
      path.toFile().delete();
    }
  }

  private void accept() {
    while (server.isOpen()) {
      try {
        SocketChannel channel = server.accept();
        open.add(channel);
        start(() -> serve(channel), "connection");
      } catch (IOException error) {
        if (server.isOpen()) { // such as too many open files: later ones may succeed
          System.out.println("connection not accepted: " + error.getMessage());
          pause();
        }
      }
    }
  }

  private void serve(SocketChannel channel) {
    try {
      SocketAddress address = channel.getRemoteAddress();
      if (address instanceof InetSocketAddress) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      }
      byte[] first = firstBytes(channel);
      if (startsLikeHttp(first) && first.length >= Http.START.length) {
        Http.answer(channel, first, node);
        Channels.close(channel);
      } else if (first.length > 0) {
        node.serve(channel, first); // which closes it, maybe later
      } else {
        Channels.close(channel);
      }
    } catch (IOException | InterruptedException gone) {
      Channels.close(channel);
    } finally {
      open.remove(channel);
    }
  }

  /** Empty at the end of a stream without bytes. */
  private static byte[] firstBytes(SocketChannel channel) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(FIRST_BYTES);
    byte[] first = new byte[0];
    while (first.length < Http.START.length && startsLikeHttp(first) && channel.read(buffer) >= 0) {
      first = Arrays.copyOf(buffer.array(), buffer.position());
    }
    return first;
  }

  private static boolean startsLikeHttp(byte[] bytes) {
    int length = Math.min(bytes.length, Http.START.length);
    return Arrays.equals(bytes, 0, length, Http.START, 0, length);
  }

  private static void start(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void pause() {
    try {
      Thread.sleep(100);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }
}
