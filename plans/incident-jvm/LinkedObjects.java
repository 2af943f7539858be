/** A list of `objects` small objects, which a full collection has to follow. */
final class LinkedObjects {
    static LinkedObjects last;
    final LinkedObjects next;

    LinkedObjects(LinkedObjects next) {
        this.next = next;
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int i = Integer.getInteger("objects"); i > 0; i--) {
            last = new LinkedObjects(last);
        }
        System.gc();
        Thread.sleep(200);
    }
}
