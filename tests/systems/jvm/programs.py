"""Small services on the JVM for tests, and targets that start them."""

from __future__ import annotations

from typing import Final

#: Answers at the port of its first argument; its second one is a way to misbehave: `heap` and `touch` retain
#: memory with each request, `collect` collects garbage, `silent` never listens, `late` exits under load,
#: `throw` ends by an exception, `done` returns at once.
SERVICE: Final = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
public class Service {
  static final List<Object> kept = new ArrayList<>();
  public static void main(String[] words) throws Exception {
    String way = words.length > 1 ? words[1] : "";
    System.out.println("mode " + System.getProperty("mode") + " heap " + Runtime.getRuntime().maxMemory());
    if (way.equals("silent")) {
      System.out.println("waiting for a database");
      Thread.sleep(600_000);
    }
    if (way.equals("throw")) {
      throw new IllegalStateException("no settings", new java.io.FileNotFoundException("shop.conf"));
    }
    if (way.equals("done")) return;
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0]));
    HttpServer server = HttpServer.create(address, 100);
    server.createContext("/", exchange -> {
      if (way.equals("late") && kept.size() >= 200) {
        System.out.println("licence expired");
        Runtime.getRuntime().halt(7);
      }
      if (way.equals("late")) kept.add(way);
      if (way.equals("heap")) synchronized (kept) { kept.add(new byte[500_000]); }
      if (way.equals("collect")) System.gc();
      if (way.equals("touch")) {
        byte[] block = new byte[2_000_000];
        synchronized (kept) { kept.add(block); }
      }
      byte[] answer = "hello\\n".getBytes();
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    server.start();
    System.out.println("listening");
  }
}
"""
