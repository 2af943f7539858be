import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/**
 * A service of three threads that writes the log `log`, with `objects` live objects that it collects at times.
 *
 * Once its threads also wait for something else.
 */
final class StallingService {
    private static final int THREADS = 3;
    /** Between the collections; unequal, so that they have no period. */
    private static final long[] INTERVALS_MS = {5000, 8000, 4000, 9500, 6500};
    private static final long WAIT_MS = 2500;
    static StallingService last;
    final StallingService next;

    StallingService(StallingService next) {
        this.next = next;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        for (int i = Integer.getInteger("objects"); i > 0; i--) {
            last = new StallingService(last);
        }
        try (PrintWriter log = new PrintWriter(Files.newBufferedWriter(Path.of(System.getProperty("log"))), true)) {
            for (int number = 0; number < THREADS; number++) {
                Thread worker = new Thread(() -> work(log), "worker-" + number);
                worker.setDaemon(true);
                worker.start();
            }
            for (long interval : INTERVALS_MS) {
                Thread.sleep(interval);
                System.gc();
            }
            Thread.sleep(INTERVALS_MS[0]);
            synchronized (log) {
                Thread.sleep(WAIT_MS);
            }
            Thread.sleep(INTERVALS_MS[0]);
        }
    }

    private static void work(PrintWriter log) {
        String name = Thread.currentThread().getName();
        for (int rows = 1; true; rows++) {
            synchronized (log) {
                log.println(Instant.now() + " [" + name + "] INFO imported " + rows + " rows");
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException end) {
                return;
            }
        }
    }
}
