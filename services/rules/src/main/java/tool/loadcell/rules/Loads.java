package tool.loadcell.rules;

/**
 * Numbers the loads: a load begins with the first stream while no other is open, and with an empty store. So
 * numbers of records can start again at 0, and a load is not affected by the one before it.
 */
final class Loads {
  private int open;
  private long load;

  /** A stream begins: the number of its load. */
  synchronized long enter() {
    if (open++ == 0) {
      load++;
    }
    return load;
  }

  synchronized void leave() {
    open--;
  }

  synchronized int open() {
    return open;
  }
}
