package tool.loadcell.rules;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** Answers one request of HTTP, then the connection ends. */
final class Http {
  static final byte[] START = "GET ".getBytes(StandardCharsets.US_ASCII);
  private static final int MOST_REQUEST_BYTES = 16_384;

  private Http() {}

  static void answer(SocketChannel channel, byte[] first, Node node) throws IOException {
    String request = new String(first, StandardCharsets.ISO_8859_1);
    ByteBuffer buffer = ByteBuffer.allocate(4096);
    while (!request.contains("\r\n\r\n") && request.length() < MOST_REQUEST_BYTES) {
      buffer.clear();
      if (channel.read(buffer) < 0) {
        return;
      }
      request += new String(buffer.array(), 0, buffer.position(), StandardCharsets.ISO_8859_1);
    }
    String path = request.split("[ ?\r]", 3)[1];
    switch (path) {
      case "/health" -> {
        String reason = node.notReady();
        send(channel, reason == null ? "200 OK" : "503 Service Unavailable", reason == null ? "ready\n" : reason + "\n");
      }
      case "/metrics" -> send(channel, "200 OK", node.metrics());
      default -> send(channel, "404 Not Found", "no endpoint " + path + "\n");
    }
  }

  private static void send(SocketChannel channel, String status, String body) throws IOException {
    byte[] content = body.getBytes(StandardCharsets.UTF_8);
    String head =
        "HTTP/1.1 " + status + "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            + "Content-Length: " + content.length + "\r\nConnection: close\r\n\r\n";
    ByteBuffer answer = ByteBuffer.allocate(head.length() + content.length);
    answer.put(head.getBytes(StandardCharsets.US_ASCII)).put(content).flip();
    while (answer.hasRemaining()) {
      channel.write(answer);
    }
  }
}
