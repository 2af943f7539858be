package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ListenerTest {
  /** A node with a defect. */
  private static final class Defective implements Node {
    @Override
    public void serve(SocketChannel channel, byte[] first) {
      throw new IllegalStateException("a defect");
    }

    @Override
    public String notReady() {
      throw new IllegalStateException("a defect");
    }

    @Override
    public String metrics() {
      throw new IllegalStateException("a defect");
    }

    @Override
    public void close() {}
  }

  @TempDir Path directory;

  private String refused(Path path) {
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class, () -> Listener.unix(path.toString(), new Defective()));
    return error.getMessage().replace(path.toString(), "PATH");
  }

  /** The socket of a process that has ended: nothing listens. */
  private Path staleSocket(String name) throws Exception {
    Path path = directory.resolve(name);
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
    }
    return path;
  }

  @Test
  void aDefectEndsTheConnection() throws Exception {
    try (Listener listener = Listener.tcp(0, new Defective())) {
      for (String sent : new String[] {"GET /health HTTP/1.1\r\n\r\n", "GET /metrics HTTP/1.1\r\n\r\n", "0,1\n"}) {
        try (StreamClient client = new StreamClient(listener.port())) {
          assertEquals("", client.sendPart(sent).answers());
        }
      }
    }
  }

  @Test
  void replacesTheSocketOfAProcessThatHasEnded() throws Exception {
    Path path = staleSocket("rules.sock");
    try (RuleService service = StreamClient.service("answers", "each", "rules", "2")) {
      Listener listener = Listener.unix(path.toString(), service);
      try (StreamClient client = new StreamClient(UnixDomainSocketAddress.of(path))) {
        assertEquals("0 r2\n", client.send(StreamClient.payments(1, 1)).answers());
      } finally {
        listener.close();
      }
    }
  }

  @Test
  void refusesTheSocketOfABusyProcess() throws Exception {
    Path path = directory.resolve("busy.sock");
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(path);
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address, 1);
      assertThrows(IOException.class, () -> fillQueue(address));
      assertTrue(refused(path).startsWith("-Dsocket=PATH is a socket that may be in use: "));
    }
  }

  /** Opens connections until no more can wait. */
  private static void fillQueue(UnixDomainSocketAddress address) throws IOException {
    for (int number = 0; number < 1_000; number++) {
      SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
      channel.configureBlocking(false);
      channel.connect(address);
    }
  }

  @Test
  void removesNothingElse() throws Exception {
    Path pipe = directory.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    Path file = Files.writeString(directory.resolve("file"), "x");
    Path toFile = Files.createSymbolicLink(directory.resolve("link"), file);
    Path toNothing = Files.createSymbolicLink(directory.resolve("dangling"), directory.resolve("absent"));
    Path toSocket = Files.createSymbolicLink(directory.resolve("link.sock"), staleSocket("stale.sock"));
    for (Path path : new Path[] {pipe, file, toFile, toNothing, toSocket, directory}) {
      assertEquals("-Dsocket=PATH exists and is not a socket", refused(path));
      assertTrue(Files.exists(path, LinkOption.NOFOLLOW_LINKS), path.toString());
    }
    assertEquals("x", Files.readString(file));
  }
}
