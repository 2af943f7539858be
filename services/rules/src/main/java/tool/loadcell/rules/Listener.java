package tool.loadcell.rules;

import java.io.IOException;
import java.net.ConnectException;
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
  static final String LOOPBACK = "127.0.0.1";

  private static final int FIRST_BYTES = 1 << 16;
  /** Bits of a mode for the type of a file, and their value for a socket: inode(7). */
  private static final int FILE_TYPE = 0170000;
  private static final int SOCKET = 0140000;

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

  /** On the loopback address. Port 0 is a free one. */
  static Listener tcp(int port, Node node) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    try {
      server.bind(new InetSocketAddress(LOOPBACK, port), 1024);
    } catch (IOException error) {
      Channels.close(server);
      throw new IOException("port " + port + ": " + error.getMessage(), error);
    }
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

  /** Removes the socket of a process that has ended, and nothing else. */
  private static void removeUnused(Path path) throws IOException {
    int mode = (int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    if ((mode & FILE_TYPE) != SOCKET) {
      throw new IllegalArgumentException("-Dsocket=" + path + " exists and is not a socket");
    }
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.configureBlocking(false); // a process that accepts nothing would block it
      channel.connect(UnixDomainSocketAddress.of(path));
    } catch (ConnectException refused) {
      Files.deleteIfExists(path);
      return;
    } catch (IOException error) {
      throw new IllegalArgumentException(
          "-Dsocket=" + path + " is a socket that may be in use: " + error.getMessage(), error);
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
    } catch (RuntimeException error) { // a defect, which the client must not wait for
      System.out.println("connection closed: " + error);
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
