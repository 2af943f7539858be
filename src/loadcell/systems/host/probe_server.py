"""`loadcell host --serve`: the other end of network probes, until somebody ends it."""

from __future__ import annotations

import ipaddress
import json
import signal
import socket
from collections.abc import Callable

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode, MessageError

PORT = 7733
#: Nothing but this machine reaches it there.

PROBE_CANNOT_LISTEN = MessageCode("host.cannot-listen", failure=Message, remedy=Message)
PROBE_NO_ADDRESS = MessageCode("host.no-listening-address", address=str, port=str)


class ServeError(MessageError):
    """It cannot listen there; says what to do about it."""


def serve(address: str, say: Callable[[JsonObject], None]) -> None:
    """Answer probes at `address` until SIGINT or SIGTERM.

    `say` is called when it listens, `{"type": "listening", "address": "HOST:PORT"}`, and at the end with what
    was served, `{"type":
    "served", "connections", "transactions", "received_bytes"}`. Raises ServeError.
    """
    before = {
        number: signal.signal(number, lambda *_: _engine.stop()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        served = json.loads(_engine.serve(complete_address(address), lambda event: say(json.loads(event))))
    except _engine.EngineError as error:
        failure = engine_failure(json.loads(error.args[0]))
        raise ServeError(
            PROBE_CANNOT_LISTEN(failure=failure, remedy=failure.remedy or failure.advice)
        ) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    say({"type": "served", **served})


def complete_address(address: str) -> str:
    """`HOST:PORT` of an address whose port, or host, may be left out: `10.0.0.5`, `:8000`, `::1`.

    Raises ServeError.
    """
    try:
        ip = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        pass
    else:
        return f"[{ip}]:{PORT}" if ip.version == 6 else f"{ip}:{PORT}"
    host, colon, port = address.rpartition(":")
    if not colon:
        host, port = address, str(PORT)
    if not (port.isdecimal() and int(port) <= 65535):
        raise ServeError(PROBE_NO_ADDRESS(address=repr(address), port=PORT))
    return f"{host or '127.0.0.1'}:{int(port)}"


def welcome(address: str) -> str:
    """Message when it listens: who can reach it, and what to type there."""
    host, _, port = address.rpartition(":")
    plain = ipaddress.ip_address(host.strip("[]"))
    if plain.is_loopback:
        return (
            f"Listening on {address}, for this machine only; `loadcell host --serve ADDRESS` listens for "
            f"others. Ctrl-C ends it.\nHere:  {_measured_from(address)}"
        )
    reached = f"{socket.gethostname()}:{port}" if plain.is_unspecified else address
    return (
        f"Listening on {address}. It answers probes of whoever can reach it: end it with Ctrl-C when you "
        f"are done.\nOn the other machine:  {_measured_from(reached)}"
    )


def _measured_from(reached: str) -> str:
    """Commands that measure against it: without a plan, and with one."""
    return (
        f"loadcell host --baseline --peer {reached} --only probe=network-rr,network-crr,network-stream\n"
        f"With a plan of your own:  loadcell run PLAN --set target.host.peer={reached}"
    )


def farewell(served: JsonObject) -> str:
    """Message at the end."""
    return (
        f"Served {served['connections']} connections: {served['transactions']} requests, "
        f"{served['received_bytes']} bytes of streams."
    )
