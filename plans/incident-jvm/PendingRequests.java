import java.util.ArrayDeque;

/**
 * Requests at a constant rate, each with short-lived memory. The memory of pending ones grows by `growth` bytes
 * within 20 seconds; a pending request is answered before it is old.
 */
final class PendingRequests {
    private static final int BYTES = 16;
    private static final int OBJECT_BYTES = 32;
    private static final int REQUESTS_PER_MS = 4000;
    private static final double SECONDS = 20;
    static volatile Object garbage;

    private PendingRequests() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        long growth = Long.getLong("growth");
        ArrayDeque<byte[]> pending = new ArrayDeque<>(1 << 20);
        long begin = System.nanoTime();
        long answered = 0;
        for (double now = 0; now < SECONDS; now = (System.nanoTime() - begin) / 1e9) {
            long most = (long) (now / SECONDS * growth / OBJECT_BYTES);
            for (long due = (long) (now * 1000 * REQUESTS_PER_MS); answered < due; answered++) {
                pending.add(new byte[BYTES]);
                while (pending.size() > most) {
                    garbage = pending.remove();
                }
            }
            Thread.sleep(1);
        }
    }
}
