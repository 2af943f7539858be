package tool.loadcell.rules;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Servers that a coordinator starts itself: JVMs with its own options and settings, each at a free port. They end
 * when their standard input ends, which is with the coordinator, however that ends.
 */
final class StartedServers {
  private static final Pattern LISTENING = Pattern.compile("listening on port (\\d+).*");
  /** Options of the coordinator alone: its place, its debugger, and files that two JVMs cannot both write. */
  private static final Pattern OWN =
      Pattern.compile(
          "-D(coordinate|port|socket|servers)=.*|-Dcom\\.sun\\.management\\..*|-Xlog.*|-Xdebug|-Xrunjdwp.*"
              + "|-javaagent:.*|-agent(lib|path):.*"
              + "|-XX:(StartFlightRecording|FlightRecorderOptions|SharedArchiveFile|ArchiveClassesAtExit|LogFile)\\b.*");

  private StartedServers() {}

  /** Starts `count` servers, and waits until they listen. Returns their addresses. */
  static List<String> start(int count) throws IOException {
    List<Process> processes = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      processes.add(new ProcessBuilder(command()).redirectError(Redirect.INHERIT).start());
    }
    List<String> addresses = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      addresses.add(address(number + 1, processes.get(number)));
    }
    return addresses;
  }

  private static List<String> command() {
    List<String> words = new ArrayList<>();
    words.add(ProcessHandle.current().info().command().orElse("java"));
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (!OWN.matcher(option).matches()) {
        words.add(option);
      }
    }
    words.addAll(List.of("-Dport=0", "-DendsWithInput=true"));
    words.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
    return words;
  }

  /** Passes on the output of a server, whose first lines have its port. */
  private static String address(int number, Process process) throws IOException {
    BufferedReader output = process.inputReader();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher listening = LISTENING.matcher(line);
      System.out.println("server " + number + ": " + line);
      if (listening.matches()) {
        passOn(number, output);
        return Listener.LOOPBACK + ":" + listening.group(1);
      }
    }
    throw new IOException("server " + number + " ended before it listened");
  }

  private static void passOn(int number, BufferedReader output) {
    Thread thread =
        new Thread(
            () -> output.lines().forEach(line -> System.out.println("server " + number + ": " + line)),
            "output-" + number);
    thread.setDaemon(true);
    thread.start();
  }
}
