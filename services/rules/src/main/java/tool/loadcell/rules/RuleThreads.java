package tool.loadcell.rules;

import java.util.ArrayList;
import java.util.List;

/** The rule threads. A key belongs to one of them, so that its records are processed in order. */
final class RuleThreads implements AutoCloseable {
  private final List<RuleThread> threads = new ArrayList<>();
  private final List<Thread> running = new ArrayList<>();

  RuleThreads(Settings settings, CompiledRules rules) {
    for (int index = 0; index < settings.threads; index++) {
      RuleThread thread = new RuleThread(index, settings, rules);
      threads.add(thread);
      Thread started = new Thread(thread, "rules-" + index);
      started.setDaemon(true);
      started.setUncaughtExceptionHandler(RuleThreads::fail);
      running.add(started);
    }
    running.forEach(Thread::start);
  }

  /** Passes a record to the thread of its key. Blocks while the queue of that thread is full. */
  void put(StreamRecord record) throws InterruptedException {
    threads.get(KeyHash.thread(record.key, threads.size())).queue().put(record);
  }

  List<RuleThread> all() {
    return threads;
  }

  @Override
  public void close() {
    running.forEach(Thread::interrupt);
  }

  /** Without a thread its records would wait for ever: end the service. */
  private static void fail(Thread thread, Throwable error) {
    System.out.println("rule thread failed: " + error.toString().replace('\n', ' '));
    error.printStackTrace();
    Runtime.getRuntime().halt(1);
  }
}
