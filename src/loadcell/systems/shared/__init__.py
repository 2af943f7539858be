"""Shared parts of targets, and labels and units of the facts that several of them report."""

from loadcell.model import panels
from loadcell.model.message import Bytes
from loadcell.model.panels import FactLabels, FactUnit, VaryingFacts

panels.declare(
    FactLabels(
        (
            "server",
            "product",
            "version",
            "host",
            "url",
            "socket",
            "connect",
            "tls",
            "binaries",
            "package",
            "run_as",
            "size_bytes",
            "data",
            "data.path",
            "data.type",
            "data.image",
            "data.image.path",
            "data.image.type",
            "data.image.direct",
            "data.image.memory",
            "data.memory",
            "database",
            "database.name",
            "database.encoding",
            "database.collation",
            "database.ctype",
            "database.size_bytes",
            "storage",
            "storage.kind",
            "storage.product",
            "storage.version",
            "storage.layout",
            "storage.hosts",
            "storage.bricks",
            "storage.replica",
            "storage.options",
        )
    ),
    FactUnit(
        Bytes,
        (
            "size_bytes",
            "data.size_bytes",
            "data.free_bytes",
            "data.image.size_bytes",
            "data.image.free_bytes",
            "database.size_bytes",
        ),
    ),
    VaryingFacts(("data.free_bytes", "data.image.free_bytes")),
)
