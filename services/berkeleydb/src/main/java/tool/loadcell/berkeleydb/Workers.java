package tool.loadcell.berkeleydb;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads for requests that block: virtual ones where the JVM has them (from 21), else a pool. */
final class Workers implements AutoCloseable {
  private static final int POOL_THREADS = 64;

  private final ExecutorService executor;
  private final String kind;

  private Workers(ExecutorService executor, String kind) {
    this.executor = executor;
    this.kind = kind;
  }

  /** `wanted` is "virtual", "pool", or null for the best that the JVM has. */
  static Workers of(String wanted) {
    if (wanted != null && !wanted.equals("virtual") && !wanted.equals("pool")) {
      throw new IllegalArgumentException("-Dworkers=" + wanted + " is neither virtual nor pool");
    }
    if (!"pool".equals(wanted)) {
      ExecutorService virtual = virtualThreads();
      if (virtual != null) {
        return new Workers(virtual, "virtual");
      }
      if (wanted != null) {
        throw new IllegalArgumentException("-Dworkers=virtual needs Java 21 or newer");
      }
    }
    return new Workers(Executors.newFixedThreadPool(POOL_THREADS), "pool");
  }

  ExecutorService executor() {
    return executor;
  }

  String kind() {
    return kind;
  }

  @Override
  public void close() {
    executor.shutdown();
  }

  /** The executor of Java 21, by reflection: this code is compiled for Java 11. */
  private static ExecutorService virtualThreads() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException error) {
      return null;
    }
  }
}
