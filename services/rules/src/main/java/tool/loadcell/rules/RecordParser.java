package tool.loadcell.rules;

/** Reads the payload of a frame as a record. A parser belongs to a thread. */
abstract class RecordParser {
  private static final int MOST_DIGITS = 18;

  protected byte[] bytes;
  protected int position;
  protected int end;

  static RecordParser of(Settings.Format format) {
    return format == Settings.Format.CSV ? new CsvParser() : new JsonParser();
  }

  final StreamRecord parse(Frames frames) throws MalformedRecord {
    bytes = frames.bytes();
    position = frames.payloadStart();
    end = frames.payloadEnd();
    return record();
  }

  protected abstract StreamRecord record() throws MalformedRecord;

  /** A whole number at the position. `name` is the field, for the message. */
  protected final long number(String name, long most) throws MalformedRecord {
    int start = position;
    long value = 0;
    while (position < end && bytes[position] >= '0' && bytes[position] <= '9') {
      value = value * 10 + bytes[position] - '0';
      position++;
      if (position - start > MOST_DIGITS) {
        throw new MalformedRecord(name + " has more than " + MOST_DIGITS + " digits");
      }
    }
    if (position == start) {
      throw new MalformedRecord(name + " is not a whole number");
    }
    if (value > most) {
      throw new MalformedRecord(name + " is above " + most);
    }
    return value;
  }

  protected static boolean isPayment(byte kind) throws MalformedRecord {
    if (kind != 'P' && kind != 'L') {
      throw new MalformedRecord("kind is neither P nor L");
    }
    return kind == 'P';
  }

  /** Values joined by commas: id,key,time,kind,amount,place, then anything. */
  private static final class CsvParser extends RecordParser {
    @Override
    protected StreamRecord record() throws MalformedRecord {
      long id = number("id", Long.MAX_VALUE);
      comma("id");
      long key = number("key", Long.MAX_VALUE);
      comma("key");
      long time = number("time", Long.MAX_VALUE);
      comma("time");
      boolean isPayment = isPayment(position < end ? bytes[position] : 0);
      position++;
      comma("kind");
      int amount = (int) number("amount", Integer.MAX_VALUE);
      comma("amount");
      int place = (int) number("place", Integer.MAX_VALUE);
      if (position < end && bytes[position] != ',' && bytes[position] != '\r') {
        throw new MalformedRecord("place is not a whole number");
      }
      return new StreamRecord(id, key, time, isPayment, amount, place);
    }

    private void comma(String name) throws MalformedRecord {
      if (position >= end || bytes[position] != ',') {
        throw new MalformedRecord("no comma after " + name);
      }
      position++;
    }
  }
}
