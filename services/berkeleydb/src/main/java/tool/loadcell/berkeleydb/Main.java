package tool.loadcell.berkeleydb;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Starts the service: fills the store where the settings ask for it, then listens. */
public final class Main {
  private Main() {}

  public static void main(String[] words) throws Exception {
    // Undertow logs by JBoss Logging; warnings of it are enough.
    System.setProperty("org.jboss.logging.provider", "jdk");
    Logger.getLogger("").setLevel(Level.WARNING);
    Settings settings;
    ShardedStore store;
    Workers workers;
    try {
      settings = Settings.of(System.getProperties());
      workers = Workers.of(System.getProperty("workers"));
      store = FilledStore.open(settings);
    } catch (IllegalArgumentException error) { // a setting that is wrong, also of Berkeley DB
      System.out.println("wrong setting: " + error.getMessage());
      System.exit(2);
      return;
    }
    Service service =
        new Service(settings.host, settings.port, store, workers, settings.fillKeys);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  service.close();
                  workers.close();
                  store.close();
                }));
    System.out.println("listening on port " + service.port() + ", workers: " + workers.kind());
  }
}
