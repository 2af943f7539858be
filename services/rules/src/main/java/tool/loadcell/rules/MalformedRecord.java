package tool.loadcell.rules;

/** The stream has something that is no record. The message is the reason, for the client. */
final class MalformedRecord extends Exception {
  private static final long serialVersionUID = 1;

  MalformedRecord(String reason) {
    super(reason);
  }
}
