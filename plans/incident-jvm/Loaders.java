import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;

/** Defines classes of ever new loaders, `most` of them, which nothing unloads. */
final class Loaders {
    private Loaders() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        ArrayList<Object> all = new ArrayList<>();
        int most = Integer.getInteger("most", 1_000_000);
        for (int i = 0; i < most; i++) {
            ClassLoader loader = new URLClassLoader(new URL[0], Loaders.class.getClassLoader());
            Class<?>[] types = {Runnable.class};
            all.add(Proxy.newProxyInstance(loader, types, (proxy, method, values) -> null));
        }
        Thread.sleep(1000);
    }
}
