package tool.loadcell.rules;

/** Which server and which thread a key belongs to. Both use bits of their own, so that each server uses all threads. */
final class KeyHash {
  private KeyHash() {}

  static int thread(long key, int threads) {
    return (int) Long.remainderUnsigned(mixed(key) & 0xFFFF_FFFFL, threads);
  }

  static int server(long key, int servers) {
    return (int) Long.remainderUnsigned(mixed(key) >>> 32, servers);
  }

  /** Finaliser of MurmurHash3 for 64 bits (Austin Appleby, 2011). */
  private static long mixed(long key) {
    long hash = key;
    hash = (hash ^ hash >>> 33) * 0xFF51AFD7ED558CCDL;
    hash = (hash ^ hash >>> 33) * 0xC4CEB9FE1A85EC53L;
    return hash ^ hash >>> 33;
  }
}
