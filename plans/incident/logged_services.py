"""Incidents of services that show in their logs: threads that write no line, and errors that become more.

Standard library only.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from rehearsal import Examination, Rehearsal, Steps, ended

#: Three workers that write a line every 20 ms, for some seconds.
_WORKERS: Final = """
import sys, threading, time
end = time.monotonic() + float(sys.argv[2])
file, lock = open(sys.argv[1], "w"), threading.Lock()
def work(name):
    number = 0
    while time.monotonic() < end:
        number += 1
        now = time.time_ns() // 10**6
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"
        with lock:
            file.write(f"{stamp} [{name}] INFO imported {number} rows\\n"); file.flush()
        time.sleep(0.02)
threads = [threading.Thread(target=work, args=(f"worker-{n}",)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
#: A server that opens a file for each request, and may not close it. Each fiftieth request is for a missing
#: file, with or without the leak.
_SERVER: Final = """
import logging, resource, socketserver, sys, time
log, file, limit, leaks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
logging.Formatter.converter = time.gmtime
logging.basicConfig(filename=log, level=logging.INFO,
    format="%(asctime)s.%(msecs)03dZ [%(threadName)s] %(levelname)s %(message)s",
    datefmt="%Y-%m-%dT%H:%M:%S")
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
unclosed = []
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for number, line in enumerate(self.rfile):
            try:
                data = open(file if number % 50 else file + ".missing")
            except OSError as error:
                logging.error("cannot read the data: %s", error.strerror)
                self.wfile.write(b"failed\\n")
                continue
            if number % 5 == 0 and leaks:
                unclosed.append(data)
            else:
                data.close()
            logging.info("answered request %d", number)
            self.wfile.write(b"done\\n")
with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.handle_request()
"""
_REQUEST_S: Final = 0.015


def silent_threads(chance: random.Random, directory: Path) -> Steps:
    length_s = chance.uniform(2, 5)
    for name, stop_s in (("stopped.log", length_s), ("healthy.log", 0.0)):
        path = directory / name
        process = subprocess.Popen((sys.executable, "-c", _WORKERS, str(path), str(15 + stop_s)))
        try:
            time.sleep(2.5)
            if stop_s:
                process.send_signal(signal.SIGSTOP)
                time.sleep(stop_s)
                process.send_signal(signal.SIGCONT)
            process.wait(60)
        finally:
            ended(process)
        yield Examination(("--log", str(path)), f"{length_s:.1f} s")


def error_growth(chance: random.Random, directory: Path) -> Steps:
    """A service that closes four of five files, until it has none left to open."""
    limit = chance.randint(60, 120)
    data = directory / "data"
    data.write_text("data")
    for name, leaks in (("leaking.log", 1), ("closing.log", 0)):
        path = directory / name
        _serve(path, data, limit, leaks)
        yield Examination(("--log", str(path)), f"a limit of {limit} files")


def _serve(log: Path, data: Path, limit: int, leaks: int) -> None:
    """A client that sends a request after another for three times the time until a leak reaches the limit."""
    words = (sys.executable, "-c", _SERVER, str(log), str(data), str(limit), str(leaks))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            with socket.create_connection(("127.0.0.1", port)) as link, link.makefile("r") as answers:
                for _number in range(3 * 5 * limit):
                    link.sendall(b"request\n")
                    answers.readline()
                    time.sleep(_REQUEST_S)
            process.wait(10)
        finally:
            ended(process)


REHEARSALS: Final = {
    "silent-threads": Rehearsal("a service that is stopped for seconds", "not stopped", silent_threads),
    "error-growth": Rehearsal(
        "a service that does not close a fifth of its files", "all files closed", error_growth
    ),
}
