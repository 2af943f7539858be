package tool.loadcell.rules;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Starts a rule service, or with `servers` or `coordinate` a coordinator: compiles the rules, then listens. */
public final class Main {
  private Main() {}

  public static void main(String[] words) throws InterruptedException {
    Logger.getLogger("").setLevel(Level.WARNING);
    try {
      Settings settings = Settings.of(System.getProperties());
      if (settings.endsWithInput) {
        endWithInput();
      }
      List<String> servers =
          settings.coordinate > 0 ? StartedServers.start(settings.coordinate) : settings.servers;
      Node node =
          servers.isEmpty()
              ? new RuleService(settings, new CompiledRules(settings.rules))
              : new Coordinator(settings, servers);
      List<Listener> listeners = new ArrayList<>();
      listeners.add(Listener.tcp(settings.port, node));
      if (settings.socket != null) {
        listeners.add(Listener.unix(settings.socket, node));
      }
      Runtime.getRuntime().addShutdownHook(new Thread(() -> listeners.forEach(Listener::close)));
      System.out.println("listening on port " + listeners.get(0).port() + described(settings, servers));
    } catch (IllegalArgumentException error) {
      System.out.println("wrong setting: " + error.getMessage());
      System.exit(2);
    } catch (IOException error) {
      System.out.println("cannot listen: " + error.getMessage());
      System.exit(1);
    }
    Thread.currentThread().join(); // the threads of connections do not keep the process alive
  }

  /** Ends the process when its standard input ends, whatever it is doing then. */
  private static void endWithInput() {
    Thread thread =
        new Thread(
            () -> {
              try {
                System.in.transferTo(OutputStream.nullOutputStream());
              } catch (IOException error) {
                // the same as its end
              }
              Runtime.getRuntime().halt(0);
            },
            "input");
    thread.setDaemon(true);
    thread.start();
  }

  private static String described(Settings settings, List<String> servers) {
    String socket = settings.socket == null ? "" : " and " + settings.socket;
    return servers.isEmpty()
        ? socket + ", rules: " + settings.rules + ", threads: " + settings.threads
        : socket + ", coordinator of " + String.join(", ", servers);
  }
}
