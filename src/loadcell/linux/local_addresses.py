"""Addresses of this machine."""

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
