package tool.loadcell.rules;

import org.kie.api.runtime.KieSession;
import org.kie.api.runtime.rule.FactHandle;
import tool.loadcell.rules.facts.Login;
import tool.loadcell.rules.facts.Payment;
import tool.loadcell.rules.facts.WindowStatistics;

/**
 * Evaluation of the rules for one payment after the other, in the session of a thread. The session is empty
 * between payments. A login fires nothing: it becomes a fact with the next payments of its key.
 */
final class RuleEvaluation {
  private final KieSession session;
  private final long windowMs;
  private final boolean hasWindows;
  private final boolean hasJoins;
  // One object of each type, as its values are read only while it is inserted.
  private final Payment payment = new Payment();
  private final Login login = new Login();
  private final WindowStatistics statistics = new WindowStatistics();

  RuleEvaluation(CompiledRules rules, long windowMs) {
    this.windowMs = windowMs;
    session = rules.session();
    hasWindows = RuleTable.has("window", rules.rules());
    hasJoins = RuleTable.has("join", rules.rules());
  }

  /** Rules that fire for the payment, as bits by number. `history` has the earlier records of its key. */
  int fired(StreamRecord record, KeyHistory history) {
    payment.set(record.time, record.amount, record.place);
    FactHandle statisticsHandle = null;
    if (hasWindows) {
      statistics.clear();
      statistics.add(record.amount);
      history.addPaymentsAfter(record.time - windowMs, statistics);
      statisticsHandle = session.insert(statistics);
    }
    FactHandle loginHandle = null;
    StreamRecord newest = history.newestLogin();
    if (hasJoins && newest != null) {
      login.set(newest.time, newest.place);
      loginHandle = session.insert(login);
    }
    FactHandle paymentHandle = session.insert(payment);
    session.fireAllRules();
    session.delete(paymentHandle);
    if (loginHandle != null) {
      session.delete(loginHandle);
    }
    if (statisticsHandle != null) {
      session.delete(statisticsHandle);
    }
    return payment.fired();
  }
}
