package tool.loadcell.rules;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The rules as text of the rule language (DRL). The table `rules.csv` has the kind and the parameters of each;
 * the kinds are templates (`window.drl`, `threshold.drl`, `join.drl`) with the names of columns as `${name}`.
 */
final class RuleTable {
  static final int MOST_RULES = 10;

  private static final String HEADER =
      "package tool.loadcell.rules.compiled\n\n"
          + "import tool.loadcell.rules.facts.Login\n"
          + "import tool.loadcell.rules.facts.Payment\n"
          + "import tool.loadcell.rules.facts.WindowStatistics\n\n";

  private RuleTable() {}

  /** The first `rules` of the table. */
  static String drl(int rules) {
    StringBuilder text = new StringBuilder(HEADER);
    for (String[] row : rows(rules)) {
      text.append(filled(row)).append('\n');
    }
    return text.toString();
  }

  /** Whether one of the first `rules` is of the kind. */
  static boolean has(String kind, int rules) {
    return rows(rules).stream().anyMatch(row -> row[1].equals(kind));
  }

  private static String filled(String[] row) {
    String text = resource(row[1] + ".drl");
    String[] names = lines().get(0);
    for (int column = 0; column < names.length; column++) {
      text = text.replace("${" + names[column] + "}", row[column]);
    }
    return text;
  }

  private static List<String[]> rows(int rules) {
    return lines().subList(1, 1 + rules);
  }

  private static List<String[]> lines() {
    return Arrays.stream(resource("rules.csv").split("\n")).map(line -> line.split(",", -1)).toList();
  }

  private static String resource(String name) {
    try (InputStream stream = RuleTable.class.getResourceAsStream(name)) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
