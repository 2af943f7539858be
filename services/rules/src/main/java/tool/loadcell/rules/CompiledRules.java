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
  }

  int rules() {
    return rules;
  }

  /** A stateful session for one thread: without locks, and without an agenda, as the order of firing is free. */
  KieSession session() {
    KieSessionConfiguration configuration = services.newKieSessionConfiguration();
    configuration.setProperty("drools.threadSafe", "false");
    configuration.setProperty("drools.directFiring", "true");
    return base.newKieSession(configuration, null);
  }
}
