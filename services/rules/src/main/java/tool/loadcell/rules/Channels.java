package tool.loadcell.rules;

import java.io.IOException;
import java.nio.channels.Channel;

/** Closes channels. */
final class Channels {
  private Channels() {}

  /** Closes without an error: what could fail is lost in any case. */
  static void close(Channel channel) {
    try {
      channel.close();
    } catch (IOException ignored) {
      // closed
    }
  }
}
