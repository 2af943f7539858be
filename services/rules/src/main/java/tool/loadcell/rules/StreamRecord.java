package tool.loadcell.rules;

/** A record of the stream, without its padding: a payment or a login. */
final class StreamRecord {
  /** Unique in a load, and increasing on a connection. */
  final long number;
  final long key;
  /** Milliseconds, increasing with the number. */
  final long time;
  /** Cents. */
  final int amount;
  final int place;
  final boolean isPayment;
  /** Where the answer goes; null once the record is processed, as it may be retained for long. */
  StreamConnection connection;
  /** The retained records of its key, while it is one of them. */
  KeyHistory history;

  StreamRecord(long number, long key, long time, boolean isPayment, int amount, int place) {
    this.number = number;
    this.key = key;
    this.time = time;
    this.isPayment = isPayment;
    this.amount = amount;
    this.place = place;
  }
}
