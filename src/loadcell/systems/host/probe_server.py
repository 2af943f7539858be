"""`loadcell host --serve`: the other end of network probes, until somebody ends it."""

from __future__ import annotations

import ipaddress
import json
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.json import read
from loadcell.model.message import Message, MessageCode, MessageError

PORT = 7733
#: Nothing but this machine reaches it there.

PROBE_CANNOT_LISTEN = MessageCode("host.cannot-listen", failure=Message, remedy=Message)
PROBE_NO_ADDRESS = MessageCode("host.no-listening-address", address=str, port=str)
PROBE_LISTENING = MessageCode("host.listening", "info", address=str, commands=Message)
PROBE_LISTENING_HERE = MessageCode("host.listening-here", "info", address=str, commands=Message)
PROBE_COMMANDS = MessageCode("host.probe-commands", "info", peer=str)
PROBE_SERVED = MessageCode("host.served", "info", connections=str, requests=str, received=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Event: the server accepts connections at this address, `HOST:PORT`."""

    type: Literal["listening"] = "listening"
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Totals of the connections that have ended."""

    type: Literal["served"] = "served"
    connections: int
    transactions: int
    received_bytes: int


class ServeError(MessageError):
    """It cannot listen there; says what to do about it."""


def serve(address: str, say: Callable[[Listening | Served], None]) -> None:
    """Answer probes at `address` until SIGINT or SIGTERM.

    `say` is called when it listens, and at the end. Raises ServeError.
    """
    before = {
        number: signal.signal(number, lambda *_: _engine.stop()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        served = _engine.serve(complete_address(address), lambda event: say(read(Listening, event)))
    except _engine.EngineError as error:
        failure = engine_failure(json.loads(error.args[0]))
        raise ServeError(
            PROBE_CANNOT_LISTEN(failure=failure, remedy=failure.remedy or failure.advice)
        ) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    say(read(Served, served))


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


def welcome(address: str) -> Message:
    """Message when it listens: who can reach it, and what to type there."""
    host, _, port = address.rpartition(":")
    plain = ipaddress.ip_address(host.strip("[]"))
    if plain.is_loopback:
        return PROBE_LISTENING_HERE(address=address, commands=PROBE_COMMANDS(peer=address))
    reached = f"{socket.gethostname()}:{port}" if plain.is_unspecified else address
    return PROBE_LISTENING(address=address, commands=PROBE_COMMANDS(peer=reached))


def farewell(served: Served) -> Message:
    """Message at the end."""
    return PROBE_SERVED(
        connections=str(served.connections),
        requests=str(served.transactions),
        received=str(served.received_bytes),
    )
