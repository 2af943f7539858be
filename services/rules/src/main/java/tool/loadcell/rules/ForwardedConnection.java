package tool.loadcell.rules;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * A connection of a client to a coordinator: its records go to the servers by key, over a connection to each,
 * and the answers come back. All buffers are bounded, so that a server that is too slow slows the client.
 */
final class ForwardedConnection {
  /** How long the error line may take to reach a client that does not read. */
  private static final long CLOSE_WAIT_MS = 3_000;

  private static final long REASON_WAIT_MS = 1_000;

  private final SocketChannel client;
  private final Settings settings;
  private final Answers answers;
  private final List<ServerLink> links = new ArrayList<>();
  private final LongAdder blockedNs;
  private final LongAdder forwarded;
  private volatile String failure;

  ForwardedConnection(
      SocketChannel client, Settings settings, LongAdder blockedNs, LongAdder forwarded, Runnable ended) {
    this.client = client;
    this.settings = settings;
    this.blockedNs = blockedNs;
    this.forwarded = forwarded;
    answers = new Answers(client, settings.answers, ended);
  }

  /** Serves the stream of the client to its end. Returns why it ends before, or null. */
  String serve(List<ServerAddress> servers, byte[] first) {
    connect(servers);
    Frames frames = new Frames(client, first, settings, this::flush);
    if (failure == null) {
      read(frames);
    }
    if (failure != null) {
      discard(frames);
    }
    answers.inputEnded();
    return failure;
  }

  private void connect(List<ServerAddress> servers) {
    for (ServerAddress server : servers) {
      try {
        links.add(new ServerLink(server, settings.answers, blockedNs));
      } catch (IOException error) {
        fail("server " + server.text() + " cannot be reached: " + error.getMessage());
        return;
      }
    }
    for (ServerLink link : links) {
      Thread thread = new Thread(() -> readAnswers(link), "answers of " + link.address().text());
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void read(Frames frames) {
    RecordParser parser = RecordParser.of(settings.format);
    long received = 0;
    String error = null;
    try {
      while (frames.next()) {
        long key = parser.parse(frames).key;
        links.get(KeyHash.server(key, links.size())).forward(frames);
        received++;
        forwarded.increment();
      }
    } catch (MalformedRecord malformed) {
      error = malformed.getMessage() + ", record " + (received + 1) + " of the connection";
    } catch (ServerLink.Gone gone) {
      serverGone(gone);
    } catch (IOException gone) {
      // the client has closed the connection: the servers process what it has sent
    }
    finish(received, error);
  }

  private void finish(long received, String error) {
    answers.finish(received, error);
    try {
      for (ServerLink link : links) {
        link.end();
      }
    } catch (IOException gone) {
      // reported by the reader of its answers
    }
    if (error != null && failure == null) {
      failure = error;
    }
  }

  private void flush() throws IOException {
    for (ServerLink link : links) {
      link.flush();
    }
  }

  private void readAnswers(ServerLink link) {
    try {
      String error = link.readAnswers(answers::add);
      if (error != null) {
        fail(error);
        if (!answers.isClosedWithin(CLOSE_WAIT_MS)) {
          Channels.close(client);
        }
      }
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    } finally {
      link.close();
    }
  }

  /** What a server answers last tells more than a write that fails: wait for it. */
  private synchronized void serverGone(ServerLink.Gone gone) {
    try {
      if (failure == null) {
        wait(REASON_WAIT_MS);
      }
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
    fail(gone.getMessage());
  }

  /** Ends the connection of the client, and those to the servers, in which a write may be blocked. */
  private synchronized void fail(String reason) {
    if (failure == null) {
      failure = reason;
    }
    answers.fail(reason);
    links.forEach(ServerLink::close);
    notifyAll();
  }

  private static void discard(Frames frames) {
    try {
      frames.discard();
    } catch (IOException closed) {
      // the end
    }
  }
}
