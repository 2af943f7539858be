package tool.loadcell.rules;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;

/** Address of a server of a coordinator: `host:port`, or the path of a Unix socket. */
record ServerAddress(String text, SocketAddress address) {
  /** Raises IllegalArgumentException. */
  static ServerAddress of(String text) {
    if (text.contains("/")) {
      return new ServerAddress(text, UnixDomainSocketAddress.of(text));
    }
    InetSocketAddress address = tcp(text);
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("-Dservers: the host of " + text + " has no address");
    }
    return new ServerAddress(text, address);
  }

  private static InetSocketAddress tcp(String text) {
    int colon = text.lastIndexOf(':');
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      if (colon > 0 && port > 0) {
        return new InetSocketAddress(text.substring(0, colon), port);
      }
    } catch (IllegalArgumentException error) {
      // reported below
    }
    throw new IllegalArgumentException(
        "-Dservers: " + text + " is neither host:port nor the path of a Unix socket");
  }

  SocketChannel connect() throws IOException {
    SocketChannel channel = SocketChannel.open(address);
    if (address instanceof InetSocketAddress) {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }
    return channel;
  }
}
