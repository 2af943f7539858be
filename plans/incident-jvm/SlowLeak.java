import java.util.ArrayList;

/** Retains `live` MiB, and `leaked` objects of 1 kB of each hundredth of a second for ever. */
final class SlowLeak {
    static volatile Object garbage;

    private SlowLeak() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        ArrayList<byte[]> all = new ArrayList<>();
        int leaked = Integer.getInteger("leaked");
        for (int i = Integer.getInteger("live", 40); i > 0; i--) {
            all.add(new byte[1 << 20]);
        }
        long end = System.nanoTime() + Long.getLong("seconds") * 1_000_000_000L;
        while (System.nanoTime() < end) {
            for (int i = 0; i < leaked; i++) {
                all.add(new byte[1000]);
            }
            for (int i = 0; i < 400; i++) {
                garbage = new byte[10_000];
            }
            Thread.sleep(10);
        }
    }
}
