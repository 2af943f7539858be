package tool.loadcell.rules;

import java.util.Locale;

/** Text in the format of Prometheus. */
final class MetricsText {
  private final StringBuilder text = new StringBuilder();

  /** A metric without labels. */
  MetricsText metric(String name, String type, String help, double value) {
    return declare(name, type, help).value(name, value);
  }

  MetricsText declare(String name, String type, String help) {
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
    return this;
  }

  /** A comment. */
  MetricsText line(String line) {
    text.append(line).append('\n');
    return this;
  }

  MetricsText value(String name, double value) {
    text.append(name).append(' ').append(number(value)).append('\n');
    return this;
  }

  MetricsText value(String name, String label, String labelValue, double value) {
    return value(name + '{' + label + "=\"" + labelValue + "\"}", value);
  }

  private static String number(double value) {
    return value == Math.rint(value)
        ? Long.toString((long) value)
        : String.format(Locale.ROOT, "%.6f", value);
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
