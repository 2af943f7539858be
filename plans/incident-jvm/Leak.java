import java.util.ArrayList;

/**
 * A batch that retains its objects; near the end of the heap it also allocates much that it does not retain.
 *
 * With `part` it releases them after each part of as many bytes, and ends after `seconds`.
 */
final class Leak {
    private static final int BYTES = 1000;
    static volatile Object garbage;

    private Leak() {
    }

    public static void main(String[] arguments) {
        ArrayList<byte[]> all = new ArrayList<>(100_000);
        int slow = (int) (Runtime.getRuntime().maxMemory() * 0.8 / 1024);
        long part = Long.getLong("part", Long.MAX_VALUE) / BYTES;
        long end = System.nanoTime() + Long.getLong("seconds", 1_000_000) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            all.add(new byte[BYTES]);
            if (all.size() > slow) {
                for (int i = 0; i < 100; i++) {
                    garbage = new byte[BYTES];
                }
            }
            if (all.size() >= part) {
                all.clear();
            }
        }
    }
}
