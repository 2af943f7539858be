import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;

/**
 * A job that reads rows into memory, batch by batch, writes each batch to MariaDB, and commits it.
 *
 * Argument `create`: make the empty table. Or three arguments: number of rows; rows of a batch; `yes` to release the
 * rows of a batch after its commit, `no` to hold them until the next batch is complete. The server's address, user and
 * password are environment variables.
 */
final class BatchJob {
    private static final int AMOUNTS = 100;
    private static final int ROWS_PER_STATEMENT = 200;
    private static final int SAMPLE_ROWS = 4_000;
    private static final double MIB = 1024.0 * 1024.0;

    private static long requestedCollections;
    private static long peakBytes;

    private BatchJob() {
    }

    /** A row as the job holds it: about 1 KiB. */
    private static final class PlanRow {
        private final String bucket;
        private final String flags;
        private final double[] amounts;

        PlanRow(String line) {
            String[] fields = line.split(",");
            bucket = fields[1];
            flags = fields[2];
            amounts = new double[AMOUNTS];
            for (int index = 0; index < AMOUNTS; index++) {
                amounts[index] = Double.parseDouble(fields[3 + index]);
            }
        }

        byte[] encoded() {
            StringBuilder text = new StringBuilder(AMOUNTS * 6);
            for (double amount : amounts) {
                text.append(amount).append(',');
            }
            return text.toString().getBytes(StandardCharsets.US_ASCII);
        }
    }

    public static void main(String[] arguments) {
        if (arguments.length == 1 && arguments[0].equals("create")) {
            create();
            return;
        }
        int rows = Integer.parseInt(arguments[0]);
        int batchRows = Integer.parseInt(arguments[1]);
        boolean releases = arguments[2].equals("yes");
        printEstimate(rows, batchRows, releases);
        long begin = System.nanoTime();
        try (Connection connection = connected()) {
            write(connection, rows, batchRows, releases);
        } catch (OutOfMemoryError error) {
            System.err.println(error);
            System.exit(3);
        } catch (SQLException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
        double elapsed = (System.nanoTime() - begin) / 1e9;
        System.out.printf(Locale.ROOT, "rows: %d%n", rows);
        System.out.printf(Locale.ROOT, "time: %.3f s%n", elapsed);
        System.out.printf(Locale.ROOT, "throughput: %.1f rows/s%n", rows / elapsed);
        System.out.printf(Locale.ROOT, "full GCs: %d%n", collections() - requestedCollections);
        System.out.printf(Locale.ROOT, "peak live set: %.1f MiB%n", peakBytes / MIB);
    }

    private static void create() {
        try (Connection connection = connected(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE plan_rows (id BIGINT PRIMARY KEY, bucket VARCHAR(64),"
                    + " flags VARCHAR(64), amounts BLOB)");
        } catch (SQLException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }

    /** Estimate the memory before the start: rows of a batch times the measured size of a row. */
    private static void printEstimate(int rows, int batchRows, boolean releases) {
        long empty = used();
        Map<Long, PlanRow> sample = new LinkedHashMap<>();
        read(sample, 0, SAMPLE_ROWS);
        double rowBytes = Math.max(0, used() - empty) / (double) sample.size();
        int batches = (rows + batchRows - 1) / batchRows;
        int held = releases || batches == 1 ? 1 : 2;
        double heap = Runtime.getRuntime().maxMemory();
        double need = empty + rowBytes * Math.min(rows, (long) batchRows * held);
        System.out.printf(Locale.ROOT, "bytes per row: %.0f%n", rowBytes);
        System.out.printf(Locale.ROOT, "estimate: %.1f MiB for %d batch(es) of %d rows at once; heap %.1f MiB%n",
                need / MIB, held, batchRows, heap / MIB);
    }

    /** Memory in use. The collections that this requests are no incident. */
    private static long used() {
        System.gc();
        requestedCollections++;
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static Connection connected() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("user"));
        properties.setProperty("password", System.getenv().getOrDefault("MYSQL_PWD", ""));
        properties.setProperty("useBulkStmts", "true");
        String address = System.getenv("host") + ":" + System.getenv("port");
        String url = "jdbc:mariadb://" + address + "/" + System.getenv("database");
        return DriverManager.getConnection(url, properties);
    }

    /** The peak of the live set is measured when the first and the second batch are complete. */
    private static void write(Connection connection, int rows, int batchRows, boolean releases) throws SQLException {
        connection.setAutoCommit(false);
        Map<Long, PlanRow> batch = null;
        for (int first = 0; first < rows; first += batchRows) {
            Map<Long, PlanRow> next = new LinkedHashMap<>();
            read(next, first, Math.min(rows, first + batchRows));
            if (first <= batchRows) {
                peakBytes = Math.max(peakBytes, used());
            }
            batch = next;
            insert(connection, batch);
            connection.commit();
            if (releases) {
                next = null;
                batch.clear();
                batch = null;
            }
        }
    }

    /** Read rows from lines of text, as a file has them. */
    private static void read(Map<Long, PlanRow> batch, int first, int end) {
        for (long id = first; id < end; id++) {
            StringBuilder line = new StringBuilder();
            line.append(id).append(",bucket-").append(id % 1000).append(",date-flags-").append(id % 365);
            for (int index = 0; index < AMOUNTS; index++) {
                line.append(',').append((id + index) % 1000);
            }
            batch.put(id, new PlanRow(line.toString()));
        }
    }

    private static void insert(Connection connection, Map<Long, PlanRow> batch) throws SQLException {
        String sql = "INSERT INTO plan_rows VALUES (?, ?, ?, ?)";
        List<Long> ids = new ArrayList<>(batch.keySet());
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int index = 0; index < ids.size(); index++) {
                PlanRow row = batch.get(ids.get(index));
                statement.setLong(1, ids.get(index));
                statement.setString(2, row.bucket);
                statement.setString(3, row.flags);
                statement.setBytes(4, row.encoded());
                statement.addBatch();
                if ((index + 1) % ROWS_PER_STATEMENT == 0 || index + 1 == ids.size()) {
                    statement.executeBatch();
                    statement.clearBatch();
                }
            }
        }
    }

    /** Collections of the old generation by the serial and the parallel collector. */
    private static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector.getName().contains("MarkSweep")) {
                count += collector.getCollectionCount();
            }
        }
        return count;
    }
}
