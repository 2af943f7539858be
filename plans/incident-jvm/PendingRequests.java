import java.util.ArrayDeque;

/**
 * Requests at an even pace, each with short-lived memory. The memory of pending ones grows by `growth` bytes to the
 * end, or up to `bound`; a pending request is answered before it is old.
 */
final class PendingRequests {
    private static final int BYTES = 16;
    private static final int OBJECT_BYTES = 32;
    private static final int TICKS = 2000;
    private static final int REQUESTS_PER_TICK = 40_000;
    private static final int TICK_MS = 9;
    static volatile Object garbage;

    private PendingRequests() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        double growth = Long.getLong("growth");
        double bound = Long.getLong("bound", Long.MAX_VALUE);
        ArrayDeque<byte[]> pending = new ArrayDeque<>(1 << 20);
        for (int tick = 0; tick < TICKS; tick++) {
            int most = (int) (Math.min(bound, growth * tick / TICKS) / OBJECT_BYTES);
            for (int number = 0; number < REQUESTS_PER_TICK; number++) {
                pending.add(new byte[BYTES]);
                while (pending.size() > most) {
                    garbage = pending.remove();
                }
            }
            Thread.sleep(TICK_MS);
        }
    }
}
