import java.util.ArrayDeque;

/**
 * Allocates as fast as it can, or `rate` MB per second, or an object each millisecond (`slow`), and retains the
 * last `retained` bytes.
 */
final class Allocation {
    private static final long NS_PER_MS = 1_000_000;

    private Allocation() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = Integer.getInteger("size", 1000);
        long limit = Long.getLong("retained", 5_000_000L);
        long begin = System.nanoTime();
        long end = begin + Long.getLong("seconds", 8) * 1000 * NS_PER_MS;
        boolean isSlow = Boolean.getBoolean("slow");
        double bytesPerNs = Long.getLong("rate", 1_000_000) / 1e3;
        ArrayDeque<byte[]> all = new ArrayDeque<>();
        long retained = 0;
        long burst = begin;
        double allowed = 0;
        while (System.nanoTime() < end) {
            all.add(new byte[size]);
            retained += size;
            while (retained > limit) {
                retained -= all.remove().length;
            }
            allowed -= size;
            if (isSlow) {
                Thread.sleep(1);
            }
            while (allowed < 0) {
                long now = System.nanoTime();
                if (now - burst < NS_PER_MS) {
                    Thread.sleep(1);
                    continue;
                }
                allowed = Math.min(now - burst, 20 * NS_PER_MS) * bytesPerNs;
                burst = now;
            }
        }
    }
}
