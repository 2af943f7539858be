package tool.loadcell.rules;

import org.drools.model.codegen.ExecutableModelProject;
import org.kie.api.KieBase;
import org.kie.api.KieBaseConfiguration;
import org.kie.api.KieServices;
import org.kie.api.builder.KieBuilder;
import org.kie.api.builder.KieFileSystem;
import org.kie.api.builder.Message;
import org.kie.api.conf.EventProcessingOption;
import org.kie.api.runtime.KieSession;
import org.kie.api.runtime.KieSessionConfiguration;

/**
 * The active rules, compiled at start as an executable model: constraints become Java code instead of
 * expressions that are interpreted until the engine has compiled them. All threads share this; each has a
 * session.
 *
 * <p>The mode is cloud, not stream. Retention counts records by number, which no window of stream mode does,
 * and its windows follow a session clock for all keys. With these the rules that fire would depend on which
 * keys share a session. So the store of a thread ({@link RetainedRecords}) keeps records and window
 * statistics, and a session only has the facts of one record at a time: they are inserted, rules fire, they
 * are deleted. Cloud mode has no clock and no events that expire, so a result depends on those facts alone.
 */
final class CompiledRules {
  private static final String FILE = "src/main/resources/tool/loadcell/rules/compiled/rules.drl";

  private static final int WARM_UP_RECORDS = 30;
  private static final int OTHER_PLACE = 50;
  private static final int MOST_PLACE = 99;

  private final KieServices services = KieServices.Factory.get();
  private final KieBase base;
  private final int rules;

  CompiledRules(int rules) {
    this.rules = rules;
    KieFileSystem files = services.newKieFileSystem();
    files.write(FILE, RuleTable.drl(rules));
    KieBuilder builder = services.newKieBuilder(files).buildAll(ExecutableModelProject.class);
    if (builder.getResults().hasMessages(Message.Level.ERROR)) {
      throw new IllegalStateException("rules do not compile: " + builder.getResults());
    }
    KieBaseConfiguration configuration = services.newKieBaseConfiguration();
    configuration.setOption(EventProcessingOption.CLOUD);
    base =
        services
            .newKieContainer(builder.getKieModule().getReleaseId())
            .newKieBase(configuration);
    fireAll();
  }

  int rules() {
    return rules;
  }

  /**
   * A stateful session for one thread, without an agenda, as the order of firing is free.
   *
   * <p>It stays thread-safe although one thread uses it. Otherwise the consequence of a rule (Drools 8.44)
   * collects its facts in an array that all sessions share, and a payment of another thread may be given to it.
   */
  KieSession session() {
    KieSessionConfiguration configuration = services.newKieSessionConfiguration();
    configuration.setProperty("drools.directFiring", "true");
    return base.newKieSession(configuration, null);
  }

  /** Fires each rule once: the first time sets up parts that all sessions share, without a lock. */
  private void fireAll() {
    RuleEvaluation evaluation = new RuleEvaluation(this, 1_000);
    KeyHistory history = new KeyHistory();
    for (int number = 0; number < WARM_UP_RECORDS; number++) {
      history.add(new StreamRecord(number, 0, number, number > 0, 1, OTHER_PLACE));
    }
    int fired = 0;
    for (int place : new int[] {0, MOST_PLACE}) {
      fired |= evaluation.fired(new StreamRecord(100, 0, 100, true, 100_000, place), history);
    }
    if (Integer.bitCount(fired) != rules) {
      throw new IllegalStateException("not all rules fire: " + Integer.toBinaryString(fired));
    }
  }
}
