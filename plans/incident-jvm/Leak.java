import java.util.ArrayList;

/** Retains all objects; near the end also allocates much that it does not retain. */
final class Leak {
    static volatile Object garbage;

    private Leak() {
    }

    public static void main(String[] arguments) {
        ArrayList<byte[]> all = new ArrayList<>(100_000);
        int slow = (int) (Runtime.getRuntime().maxMemory() * 0.8 / 1024);
        while (true) {
            all.add(new byte[1000]);
            if (all.size() > slow) {
                for (int i = 0; i < 100; i++) {
                    garbage = new byte[1000];
                }
            }
        }
    }
}
