import java.util.ArrayDeque;

/** Allocates as fast as it can, or an object each millisecond (`slow`), and retains the last `retained` bytes. */
final class Allocation {
    private Allocation() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = Integer.getInteger("size", 1000);
        long limit = Long.getLong("retained", 5_000_000L);
        long end = System.nanoTime() + Long.getLong("seconds", 8) * 1_000_000_000L;
        boolean isSlow = Boolean.getBoolean("slow");
        ArrayDeque<byte[]> all = new ArrayDeque<>();
        long retained = 0;
        while (System.nanoTime() < end) {
            all.add(new byte[size]);
            retained += size;
            while (retained > limit) {
                retained -= all.remove().length;
            }
            if (isSlow) {
                Thread.sleep(1);
            }
        }
    }
}
