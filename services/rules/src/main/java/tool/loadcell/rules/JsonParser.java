package tool.loadcell.rules;

import java.nio.charset.StandardCharsets;

/**
 * One flat object of JSON. Numbers may be quoted. Other members are skipped if they are numbers, texts,
 * true, false or null.
 */
final class JsonParser extends RecordParser {
  private static final int ALL = 0b11_1111;

  private long id;
  private long key;
  private long time;
  private boolean isPayment;
  private int amount;
  private int place;
  /** The members that were read, as bits. */
  private int present;

  @Override
  protected StreamRecord record() throws MalformedRecord {
    present = 0;
    expect('{');
    if (!accept('}')) {
      do {
        member();
      } while (accept(','));
      expect('}');
    }
    space();
    if (position != end) {
      throw new MalformedRecord("bytes after the object");
    }
    if (present != ALL) {
      throw new MalformedRecord("the object has not all of id, key, time, kind, amount, place");
    }
    return new StreamRecord(id, key, time, isPayment, amount, place);
  }

  private void member() throws MalformedRecord {
    expect('"');
    int start = position;
    endOfText();
    String name = new String(bytes, start, position - 1 - start, StandardCharsets.ISO_8859_1);
    expect(':');
    switch (name) {
      case "id" -> id = numberMember(name, 0, Long.MAX_VALUE);
      case "key" -> key = numberMember(name, 1, Long.MAX_VALUE);
      case "time" -> time = numberMember(name, 2, Long.MAX_VALUE);
      case "kind" -> isPayment = kindMember();
      case "amount" -> amount = (int) numberMember(name, 4, Integer.MAX_VALUE);
      case "place" -> place = (int) numberMember(name, 5, Integer.MAX_VALUE);
      default -> skipValue();
    }
  }

  private long numberMember(String name, int bit, long most) throws MalformedRecord {
    boolean isQuoted = accept('"');
    long value = number(name, most);
    if (isQuoted && !accept('"') || !isQuoted && position < end && !endsValue(bytes[position])) {
      throw new MalformedRecord(name + " is not a whole number");
    }
    present |= 1 << bit;
    return value;
  }

  private boolean kindMember() throws MalformedRecord {
    expect('"');
    boolean value = isPayment(position < end ? bytes[position] : 0);
    position++;
    expect('"');
    present |= 1 << 3;
    return value;
  }

  private void skipValue() throws MalformedRecord {
    if (accept('"')) {
      endOfText();
      return;
    }
    int start = position;
    while (position < end && !endsValue(bytes[position])) {
      if (bytes[position] == '{' || bytes[position] == '[') {
        throw new MalformedRecord("an object or a list in the object");
      }
      position++;
    }
    if (position == start) {
      throw new MalformedRecord("a member without a value");
    }
  }

  private static boolean endsValue(byte character) {
    return character == ',' || character == '}' || character <= ' ' && character >= 0;
  }

  /** Moves behind the quotation mark that ends a text. */
  private void endOfText() throws MalformedRecord {
    while (position < end && bytes[position] != '"') {
      position += bytes[position] == '\\' ? 2 : 1;
    }
    if (position >= end) {
      throw new MalformedRecord("a text without end");
    }
    position++;
  }

  private void space() {
    while (position < end && bytes[position] <= ' ' && bytes[position] >= 0) {
      position++;
    }
  }

  private boolean accept(char character) {
    space();
    if (position < end && bytes[position] == character) {
      position++;
      return true;
    }
    return false;
  }

  private void expect(char character) throws MalformedRecord {
    if (!accept(character)) {
      throw new MalformedRecord("not an object of JSON: no " + character + " where one is expected");
    }
  }
}
