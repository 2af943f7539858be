package tool.loadcell.rules.facts;

/** Number and sum of the payments of a key in the window of a payment, which is one of them. */
public final class WindowStatistics {
  private long count;
  private long sum;

  public void clear() {
    count = 0;
    sum = 0;
  }

  public void add(int amount) {
    count++;
    sum += amount;
  }

  public long getCount() {
    return count;
  }

  /** Cents. */
  public long getSum() {
    return sum;
  }
}
