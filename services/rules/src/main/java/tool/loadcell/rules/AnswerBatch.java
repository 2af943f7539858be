package tool.loadcell.rules;

import java.util.Arrays;

/**
 * Answers of one thread for one connection that are not passed on yet. Only that thread uses it, so that a
 * record takes no lock.
 */
final class AnswerBatch {
  private static final int LEAST_BYTES = 1024;
  /** A number, and ten rules with the space before each. */
  private static final int MOST_LINE_BYTES = 20 + 4 * RuleTable.MOST_RULES + 2;

  private final boolean hasLines;
  private byte[] bytes;
  private int length;
  private int records;

  AnswerBatch(Settings.AnswerMode mode) {
    hasLines = mode == Settings.AnswerMode.EACH;
    bytes = new byte[hasLines ? LEAST_BYTES : 0];
  }

  boolean isEmpty() {
    return records == 0;
  }

  int records() {
    return records;
  }

  byte[] bytes() {
    return bytes;
  }

  int length() {
    return length;
  }

  /** A record is processed; `fired` has the rules as bits by number. */
  void add(long number, int fired) {
    records++;
    if (!hasLines) {
      return;
    }
    if (bytes.length - length < MOST_LINE_BYTES) {
      bytes = Arrays.copyOf(bytes, 2 * bytes.length);
    }
    decimal(number);
    for (int left = fired; left != 0; left &= left - 1) {
      bytes[length++] = ' ';
      bytes[length++] = 'r';
      decimal(Integer.numberOfTrailingZeros(left));
    }
    bytes[length++] = '\n';
  }

  void clear() {
    length = 0;
    records = 0;
  }

  private void decimal(long value) {
    int digits = 1;
    for (long left = value; left >= 10; left /= 10) {
      digits++;
    }
    length += digits;
    long left = value;
    for (int index = length - 1; digits > 0; index--, digits--) {
      bytes[index] = (byte) ('0' + left % 10);
      left /= 10;
    }
  }
}
