package tool.loadcell.berkeleydb;

import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.LockConflictException;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.OperationStatus;
import com.sleepycat.je.StatsConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Keys and values in several environments of Berkeley DB; the hash of a key chooses its shard. */
final class ShardedStore implements AutoCloseable {
  /** How often a write that met a lock of another one is repeated. */
  private static final int TRIES = 5;

  private final List<Environment> environments = new ArrayList<>();
  private final List<Database> databases = new ArrayList<>();

  /** Open or create the shards below a directory. Raises DatabaseException and IllegalArgumentException. */
  ShardedStore(Path data, int shards, Properties je) throws IOException {
    EnvironmentConfig environment = new EnvironmentConfig(je);
    environment.setAllowCreate(true);
    environment.setTransactional(true);
    DatabaseConfig database = new DatabaseConfig();
    database.setAllowCreate(true);
    database.setTransactional(true);
    try {
      for (int number = 0; number < shards; number++) {
        Path home = Files.createDirectories(data.resolve("shard-" + number));
        environments.add(new Environment(home.toFile(), environment));
        databases.add(environments.get(number).openDatabase(null, "values", database));
      }
    } catch (RuntimeException | IOException error) {
      close();
      throw error;
    }
  }

  /** The value of a key, or null. */
  byte[] get(byte[] key) {
    DatabaseEntry value = new DatabaseEntry();
    OperationStatus status =
        shard(key).get(null, new DatabaseEntry(key), value, LockMode.READ_COMMITTED);
    return status == OperationStatus.SUCCESS ? value.getData() : null;
  }

  /** Store a value, replacing an earlier one. */
  void set(byte[] key, byte[] value) {
    for (int attempt = 1; ; attempt++) {
      try {
        shard(key).put(null, new DatabaseEntry(key), new DatabaseEntry(value));
        return;
      } catch (LockConflictException error) {
        if (attempt == TRIES) {
          throw error;
        }
      }
    }
  }

  /** Number of keys: reads the whole tree, as a start after a fill does. */
  long count() {
    long keys = 0;
    for (Database database : databases) {
      keys += database.count();
    }
    return keys;
  }

  /** Write what the cache has and the files have not, so that a measurement begins alike. */
  void checkpoint() {
    for (Environment environment : environments) {
      environment.checkpoint(null);
    }
  }

  /** Statistics of each shard by name. */
  List<java.util.Map<String, Long>> statistics() {
    List<java.util.Map<String, Long>> shards = new ArrayList<>();
    StatsConfig config = new StatsConfig();
    config.setFast(true);
    for (Environment environment : environments) {
      shards.add(Statistics.numbers(environment.getStats(config)));
    }
    return shards;
  }

  private Database shard(byte[] key) {
    return databases.get(Math.floorMod(java.util.Arrays.hashCode(key), databases.size()));
  }

  @Override
  public void close() {
    for (Database database : databases) {
      database.close();
    }
    for (Environment environment : environments) {
      environment.close();
    }
    databases.clear();
    environments.clear();
  }
}
