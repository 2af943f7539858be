package tool.loadcell.rules.facts;

/** The newest retained login of the key of a payment. */
public final class Login {
  private long time;
  private int place;

  public void set(long time, int place) {
    this.time = time;
    this.place = place;
  }

  /** Milliseconds. */
  public long getTime() {
    return time;
  }

  public int getPlace() {
    return place;
  }
}
