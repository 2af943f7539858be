import java.util.ArrayDeque;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * A service that answers requests and retains a record of each: all records (a leak), or the last ones only.
 *
 * Arguments: duration in seconds; the number of retained records, or `all`.
 */
final class Retention {
    /** Requests arrive at this rate; a service that is late answers as fast as it can. */
    private static final double REQUESTS_PER_S = 100_000;
    /** Short-lived memory of a request, and the record that remains. */
    private static final int WORK_BYTES = 4 * 1024;
    private static final int RECORD_BYTES = 96;

    private static ArrayDeque<byte[]> records = new ArrayDeque<>();

    private Retention() {
    }

    public static void main(String[] arguments) {
        double seconds = Double.parseDouble(arguments[0]);
        long most = arguments[1].equals("all") ? Long.MAX_VALUE : Long.parseLong(arguments[1]);
        long succeeded = 0;
        long failed = 0;
        long begin = System.nanoTime();
        long end = begin + (long) (seconds * 1e9);
        for (long now = begin; now < end; now = System.nanoTime()) {
            if (succeeded > (now - begin) / 1e9 * REQUESTS_PER_S) {
                LockSupport.parkNanos(200_000);
                continue;
            }
            try {
                answer(succeeded, most);
                succeeded++;
            } catch (OutOfMemoryError error) {
                failed++;
            }
        }
        double elapsed = (System.nanoTime() - begin) / 1e9;
        int retained = records.size();
        records = null;
        System.out.printf(Locale.ROOT, "throughput: %.1f requests/s%n", succeeded / elapsed);
        System.out.printf(Locale.ROOT, "succeeded: %d%nfailed: %d%n", succeeded, failed);
        System.out.printf(Locale.ROOT, "retained: %d%n", retained);
    }

    private static void answer(long number, long most) {
        byte[] work = new byte[WORK_BYTES];
        for (int index = 0; index < work.length; index += 64) {
            work[index] = (byte) (number + index);
        }
        byte[] record = new byte[RECORD_BYTES];
        System.arraycopy(work, 0, record, 0, RECORD_BYTES);
        records.addLast(record);
        if (records.size() > most) {
            records.removeFirst();
        }
    }
}
