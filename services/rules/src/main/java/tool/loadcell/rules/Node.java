package tool.loadcell.rules;

import java.nio.channels.SocketChannel;

/** What serves the connections of a listener: the rule service itself, or a coordinator before several. */
interface Node extends AutoCloseable {
  /** Serves a stream up to its end. `first` are the bytes that were read already, at least one. */
  void serve(SocketChannel channel, byte[] first) throws InterruptedException;

  /** Null when ready, else the reason. */
  String notReady();

  /** Text of `/metrics`. */
  String metrics();

  @Override
  void close();
}
