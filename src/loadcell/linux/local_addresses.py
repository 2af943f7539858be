"""Addresses of this machine, and the interface that leads to another one."""

from __future__ import annotations

import ipaddress
import socket

import psutil


def is_local(host: str) -> bool:
    """True if an address or name is one of this machine; any other name is taken for another machine's."""
    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    local_addresses = {
        entry.address.partition("%")[0] for interface in psutil.net_if_addrs().values() for entry in interface
    }
    return address.is_loopback or str(address) in local_addresses


def interface_to(host: str) -> str | None:
    """The interface that the kernel routes packets to an address or name through; None if unknown.

    Connecting a socket of UDP looks up the route, and sends nothing.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as route:
            route.connect(address)
            source = str(route.getsockname()[0]).partition("%")[0]
    except OSError:
        return None
    for interface, entries in psutil.net_if_addrs().items():
        if any(entry.address.partition("%")[0] == source for entry in entries):
            return interface
    return None
