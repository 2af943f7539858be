package tool.loadcell.rules.facts;

/** The payment that the rules are evaluated for. It collects the numbers of those that fire. */
public final class Payment {
  private long time;
  private int amount;
  private int place;
  private int fired;

  public void set(long time, int amount, int place) {
    this.time = time;
    this.amount = amount;
    this.place = place;
    fired = 0;
  }

  /** Milliseconds. */
  public long getTime() {
    return time;
  }

  /** Cents; `long`, so that products in a rule do not overflow. */
  public long getAmount() {
    return amount;
  }

  public int getPlace() {
    return place;
  }

  /** Called by a rule, with its number from 1. */
  public void fire(int rule) {
    fired |= 1 << rule;
  }

  /** Bit k is set if rule k fired. */
  public int fired() {
    return fired;
  }
}
