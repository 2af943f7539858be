package tool.loadcell.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which rules fire, by the parameters in rules.csv. */
class RulesTest {
  private static final CompiledRules ALL = new CompiledRules(RuleTable.MOST_RULES);
  private static final long WINDOW_MS = 600_000;

  private RetainedRecords retained;
  private RuleEvaluation evaluation;
  private long number;

  @BeforeEach
  void start() {
    start(200_000, WINDOW_MS);
  }

  private void start(long most, long windowMs) {
    retained = new RetainedRecords(most);
    evaluation = new RuleEvaluation(ALL, windowMs);
    number = 0;
  }

  private List<Integer> record(long key, long time, boolean isPayment, int amount, int place) {
    StreamRecord record = new StreamRecord(number++, key, time, isPayment, amount, place);
    KeyHistory history = retained.advance(record);
    int fired = isPayment ? evaluation.fired(record, history) : 0;
    retained.add(record, history);
    List<Integer> rules = new ArrayList<>();
    for (int rule = 1; rule <= RuleTable.MOST_RULES; rule++) {
      if ((fired >> rule & 1) == 1) {
        rules.add(rule);
      }
    }
    return rules;
  }

  private List<Integer> payment(long time, int amount, int place) {
    return record(1, time, true, amount, place);
  }

  private void login(long time, int place) {
    record(1, time, false, 1, place);
  }

  private void payments(int count, int amount) {
    for (int index = 0; index < count; index++) {
      assertEquals(List.of(), payment(number, amount, 60));
    }
  }

  @Test
  void aThresholdIsExceededAtSomePlaces() {
    assertEquals(List.of(), payment(1, 99_000, 60));
    assertEquals(List.of(2), payment(2, 99_001, 60));
    assertEquals(List.of(), payment(3, 95_000, 49));
    assertEquals(List.of(5), payment(4, 95_001, 49));
    assertEquals(List.of(), payment(5, 95_001, 50));
    assertEquals(List.of(8), payment(6, 90_001, 90));
    assertEquals(List.of(), payment(7, 90_001, 89));
  }

  @Test
  void aPaymentFarAboveTheMeanOfTheWindowFires() {
    payments(4, 100);
    assertEquals(List.of(), payment(10, 245, 60), "500 * 245 is not above 190 * 645");
    start();
    payments(4, 100);
    assertEquals(List.of(1), payment(10, 246, 60));
    start();
    payments(3, 100);
    assertEquals(List.of(), payment(10, 30_000, 60), "four payments are too few");
    start();
    payments(19, 100);
    assertEquals(List.of(1, 4, 7, 10), payment(100, 30_000, 60));
  }

  @Test
  void theWindowExcludesItsStart() {
    start(200_000, 1_000);
    payments(4, 100);
    assertEquals(List.of(1), payment(999, 30_000, 60));
    start(200_000, 1_000);
    payments(4, 100);
    assertEquals(List.of(), payment(1_000, 30_000, 60), "the payment at 0 ms is not later than the start");
  }

  @Test
  void loginsAndOtherKeysDoNotCountInAWindow() {
    payments(3, 100);
    login(3, 60);
    record(2, 4, true, 100, 60);
    assertEquals(List.of(), payment(5, 30_000, 60));
  }

  @Test
  void aJoinFiresSoonAfterALoginAtAnotherPlace() {
    login(0, 50);
    assertEquals(List.of(3), payment(59_999, 97_001, 60));
    assertEquals(List.of(), payment(59_999, 97_000, 60));
    assertEquals(List.of(), payment(59_999, 97_001, 50));
    assertEquals(List.of(), payment(60_000, 97_001, 60));
    assertEquals(List.of(2, 9), payment(60_000, 99_001, 60));
    login(60_001, 60);
    assertEquals(List.of(), payment(60_002, 98_000, 60), "only the newest login counts");
    assertEquals(List.of(3, 6), payment(60_003, 98_000, 61));
  }

  @Test
  void recordsAreRetainedByNumber() {
    start(10, WINDOW_MS);
    login(0, 50);
    number = 9;
    assertEquals(List.of(3, 6), payment(1, 98_000, 60));
    assertEquals(List.of(), payment(2, 98_000, 60), "number 10 retains 1 to 10");
    start(10, WINDOW_MS);
    payments(4, 100);
    number = 9;
    assertEquals(List.of(1), payment(20, 30_000, 60));
    start(10, WINDOW_MS);
    payments(4, 100);
    number = 10;
    assertEquals(List.of(), payment(20, 30_000, 60));
  }

  @Test
  void theStoreIsBounded() {
    start(1_000, WINDOW_MS);
    for (int index = 0; index < 20_000; index++) {
      record(index, index, true, 100, 60);
    }
    assertEquals(1_000, retained.size());
    assertEquals(1_000, retained.keys());
    number = 0; // as from another connection that is far behind
    for (int index = 0; index < 5_000; index++) {
      record(7, index, true, 100, 60);
    }
    assertTrue(retained.size() <= 1_000);
    retained.clear();
    assertEquals(0, retained.keys());
  }

  @Test
  void onlyTheFirstRulesAreActive() {
    assertFalse(RuleTable.drl(1).contains("r2"));
    assertTrue(RuleTable.drl(10).contains("rule \"r10\""));
    assertFalse(RuleTable.drl(10).contains("${"));
    evaluation = new RuleEvaluation(new CompiledRules(1), WINDOW_MS);
    payments(19, 100);
    assertEquals(List.of(1), payment(100, 99_999, 60));
  }
}
