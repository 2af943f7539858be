package tool.loadcell.berkeleydb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Opens the store with the keys and values that the settings ask for. */
final class FilledStore {
  /** A file beside the shards, which exists once all keys are stored. */
  private static final String MARKER = "filled";

  private FilledStore() {}

  /**
   * The store with all its keys. One whose fill was interrupted is written anew: what it has would be
   * stored twice, and cleaned up during a measurement.
   */
  static ShardedStore open(Settings settings) throws IOException {
    Path marker = settings.data.resolve(MARKER);
    ShardedStore store = new ShardedStore(settings.data, settings.shards, settings.je);
    if (settings.fillKeys == 0 || Files.exists(marker)) {
      return store;
    }
    if (store.count() > 0) {
      store.close(); // it could be opened, so that no other process uses its files
      remove(settings.data);
      store = new ShardedStore(settings.data, settings.shards, settings.je);
    }
    fill(store, settings.fillKeys, settings.fillValueBytes);
    Files.createFile(marker);
    return store;
  }

  private static void fill(ShardedStore store, long keys, int valueBytes) {
    long step = Math.max(1, keys / 10);
    byte[] value = new byte[valueBytes];
    for (long key = 1; key <= keys; key++) {
      ThreadLocalRandom.current().nextBytes(value);
      store.set(Parameters.bytes(Long.toString(key)), value);
      if (key % step == 0) {
        System.out.println("filled " + 100 * key / keys + "%");
      }
    }
    store.checkpoint();
  }

  private static void remove(Path directory) throws IOException {
    List<Path> paths;
    try (Stream<Path> tree = Files.walk(directory)) {
      paths = tree.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
    }
    for (Path path : paths) {
      Files.delete(path);
    }
  }
}
