"""Message codes of the engine: outcomes of a load, its steps, and the remedies for error codes of servers and of this machine.

The texts are in `messages-engine.toml` and `messages-remedies.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from loadcell.model import catalogue
from loadcell.model.message import ForeignText, Message, MessageCode, Rate, Seconds, declared


def load_failure(code: str, text: str, advice: str) -> Message:
    """The failure of a load, from the engine's code, text and advice; step and remedy as messages where the catalogue has them."""
    arguments: dict[str, Any] = {"finding": text, "advice": advice}
    if (step := _step(text)) is not None:
        arguments["finding"] = step
    if (remedy := _remedies().get(advice)) is not None:
        arguments["remedy"] = Message(remedy)
    return Message(f"load.{code}", arguments, recorded=(text, advice))


def failure_remedy(protocol: str, code: str | None) -> Message | None:
    """The remedy for an error code in this protocol, or in any."""
    codes = (f"remedy.{protocol}.{code}", f"remedy.{code}")
    return next((Message(code) for code in codes if code in declared()), None)


def error_remedy(protocol: str, code: str) -> Message | None:
    """The remedy for an error of single requests; a lack of resources of this machine comes first."""
    shortage = f"short-of.{code}"
    return Message(shortage) if shortage in declared() else failure_remedy(protocol, code)


def _step(text: str) -> Message | None:
    """The step of the engine that an English text names."""
    for code, pattern in _steps().items():
        if (match := pattern.fullmatch(text)) is not None:
            return Message(code, match.groupdict())
    return None


@cache
def _steps() -> Mapping[str, re.Pattern[str]]:
    """Code -> pattern of its English text; a name ends at the first colon and blank."""
    patterns = {}
    for code, entry in catalogue.texts().items():
        if code.startswith("engine."):
            words = re.escape(entry["en"]).replace(r"\{said\}", "(?P<said>.*)")
            patterns[code] = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*?)", words), re.DOTALL)
    return patterns


@cache
def _remedies() -> Mapping[str, str]:
    """English text of a remedy -> its code."""
    return {entry["en"]: code for code, entry in catalogue.texts().items() if code.startswith("remedy.")}


MessageCode("engine.connect", said=ForeignText, where=str)
MessageCode("engine.fill-keys", said=ForeignText)
MessageCode("engine.open-store", path=str, said=ForeignText)
MessageCode("engine.load-store", path=str, said=ForeignText)
MessageCode("engine.no-store", said=ForeignText)
MessageCode("engine.prepare-connection", said=ForeignText)
MessageCode("engine.create-table", name=str, said=ForeignText)
MessageCode("engine.load-table", name=str, said=ForeignText)
MessageCode("engine.fill-table", name=str, said=ForeignText)
MessageCode("engine.build-index", name=str, said=ForeignText)
MessageCode("engine.make-keys", name=str, said=ForeignText)
MessageCode("engine.make-foreign-key", name=str, said=ForeignText)
MessageCode("engine.finish-table", name=str, said=ForeignText)
MessageCode("engine.make-file", path=str, said=ForeignText)
MessageCode("engine.use-directory", path=str, said=ForeignText)
MessageCode("engine.lay-out-file", path=str, said=ForeignText)
MessageCode("remedy.postgres.28P01")
MessageCode("remedy.postgres.28000")
MessageCode("remedy.postgres.3D000")
MessageCode("remedy.postgres.53300")
MessageCode("remedy.postgres.57P01")
MessageCode("remedy.postgres.57P02")
MessageCode("remedy.postgres.57P03")
MessageCode("remedy.postgres.connection")
MessageCode("remedy.postgres.timeout")
MessageCode("remedy.postgres.tls")
MessageCode("remedy.postgres.protocol")
MessageCode("remedy.postgres.42501")
MessageCode("remedy.postgres.42P01")
MessageCode("remedy.postgres.3F000")
MessageCode("remedy.postgres.42P07")
MessageCode("remedy.postgres.42703")
MessageCode("remedy.postgres.53100")
MessageCode("remedy.postgres.53200")
MessageCode("remedy.postgres.25006")
MessageCode("remedy.mysql.28000")
MessageCode("remedy.mysql.08004")
MessageCode("remedy.mysql.08S01")
MessageCode("remedy.mysql.1203")
MessageCode("remedy.mysql.1226")
MessageCode("remedy.mysql.1049")
MessageCode("remedy.mysql.1129")
MessageCode("remedy.mysql.1130")
MessageCode("remedy.mysql.3159")
MessageCode("remedy.mysql.connection")
MessageCode("remedy.mysql.timeout")
MessageCode("remedy.mysql.tls")
MessageCode("remedy.mysql.auth")
MessageCode("remedy.mysql.protocol")
MessageCode("remedy.mysql.1927")
MessageCode("remedy.mysql.3169")
MessageCode("remedy.mysql.1461")
MessageCode("remedy.mysql.1044")
MessageCode("remedy.mysql.1142")
MessageCode("remedy.mysql.1143")
MessageCode("remedy.mysql.1227")
MessageCode("remedy.mysql.1370")
MessageCode("remedy.mysql.42S02")
MessageCode("remedy.mysql.42S01")
MessageCode("remedy.mysql.42S22")
MessageCode("remedy.mysql.1148")
MessageCode("remedy.mysql.3948")
MessageCode("remedy.mysql.4166")
MessageCode("remedy.mysql.1021")
MessageCode("remedy.mysql.1114")
MessageCode("remedy.mysql.1037")
MessageCode("remedy.mysql.1038")
MessageCode("remedy.mysql.1041")
MessageCode("remedy.mysql.1153")
MessageCode("remedy.mysql.1205")
MessageCode("remedy.mysql.1290")
MessageCode("remedy.mysql.1836")
MessageCode("remedy.resp.NOAUTH")
MessageCode("remedy.resp.WRONGPASS")
MessageCode("remedy.resp.NOPROTO")
MessageCode("remedy.resp.LOADING")
MessageCode("remedy.resp.max-clients")
MessageCode("remedy.resp.database")
MessageCode("remedy.resp.connection")
MessageCode("remedy.resp.timeout")
MessageCode("remedy.resp.tls")
MessageCode("remedy.resp.protocol")
MessageCode("remedy.resp.NOPERM")
MessageCode("remedy.resp.WRONGTYPE")
MessageCode("remedy.resp.OOM")
MessageCode("remedy.resp.MOVED")
MessageCode("remedy.resp.ASK")
MessageCode("remedy.resp.CROSSSLOT")
MessageCode("remedy.resp.CLUSTERDOWN")
MessageCode("remedy.resp.TRYAGAIN")
MessageCode("remedy.resp.READONLY")
MessageCode("remedy.resp.BUSY")
MessageCode("remedy.resp.MISCONF")
MessageCode("remedy.resp.MASTERDOWN")
MessageCode("remedy.resp.NOREPLICAS")
MessageCode("remedy.resp.UNKILLABLE")
MessageCode("remedy.resp.NOSCRIPT")
MessageCode("remedy.resp.EXECABORT")
MessageCode("remedy.resp.lost")
MessageCode("remedy.resp.stale")
MessageCode("remedy.resp.corrupt")
MessageCode("remedy.http.refused")
MessageCode("remedy.http.reset")
MessageCode("remedy.http.connection")
MessageCode("remedy.http.timeout")
MessageCode("remedy.http.protocol")
MessageCode("remedy.http.ports")
MessageCode("remedy.http.tls")
MessageCode("remedy.http.REFUSED_STREAM")
MessageCode("remedy.http.ENHANCE_YOUR_CALM")
MessageCode("remedy.http.NO_ERROR")
MessageCode("remedy.http.INTERNAL_ERROR")
MessageCode("remedy.http.CANCEL")
MessageCode("remedy.store.no-space")
MessageCode("remedy.store.denied")
MessageCode("remedy.store.damaged")
MessageCode("remedy.store.busy")
MessageCode("remedy.store.too-large")
MessageCode("remedy.store.closed")
MessageCode("remedy.store.library")
MessageCode("remedy.store.lost")
MessageCode("remedy.store.stale")
MessageCode("remedy.store.corrupt")
MessageCode("remedy.host.no-space")
MessageCode("remedy.host.denied")
MessageCode("remedy.host.limit")
MessageCode("remedy.host.io")
MessageCode("remedy.host.damaged")
MessageCode("remedy.host.io-uring")
MessageCode("remedy.host.ports")
MessageCode("remedy.host.connection")
MessageCode("remedy.host.refused")
MessageCode("remedy.host.reset")
MessageCode("remedy.host.timeout")
MessageCode("remedy.engine.threads")
MessageCode("remedy.engine.report")
MessageCode("remedy.engine.anew")
MessageCode("remedy.engine.nobody-else")
MessageCode("remedy.engine.host")
MessageCode("remedy.engine.tls-name")
MessageCode("remedy.engine.tls-root")
MessageCode("remedy.engine.tls-file")
MessageCode("remedy.engine.peer")
MessageCode("remedy.engine.loopback")
MessageCode("remedy.ports")
MessageCode("remedy.descriptors")
MessageCode("short-of.ports")
MessageCode("short-of.descriptors")
MessageCode("lost", advice=str, finding=Message, remedy=Message, said=ForeignText, where=str)
MessageCode(
    "connect-failed",
    advice=str,
    clients=str,
    finding=Message,
    refused=str,
    remedy=Message,
    said=ForeignText,
    where=str,
)
MessageCode("stopped")
MessageCode(
    "overloaded",
    clients=str,
    due_per_s=Rate,
    ended_per_s=Rate,
    finding=Message,
    overdue_s=Seconds,
    waiting=str,
)
MessageCode("unfinished", asked=str, finding=Message, limit_s=Seconds, made=str, under_way=str)
MessageCode("unsettled", limit_s=Seconds)
MessageCode("load.spec", finding=Message)
MessageCode("load.limit", finding=Message)
MessageCode("load.merge", finding=Message)
MessageCode("load.internal", finding=Message)
MessageCode("load.stopped", finding=Message)
MessageCode("load.rows", finding=Message)
MessageCode("load.io-uring", finding=Message)
MessageCode("load.no-space", finding=Message)
MessageCode("load.denied", finding=Message)
MessageCode("load.damaged", finding=Message)
MessageCode("load.busy", finding=Message)
MessageCode("load.io", finding=Message)
MessageCode("load.too-large", finding=Message)
MessageCode("load.closed", finding=Message)
MessageCode("load.library", finding=Message)
MessageCode("load.engine", finding=Message)
MessageCode("load.other", advice=str, finding=Message, meaning=str, remedy=Message)
MessageCode("load.start-missed", finding=Message)
MessageCode("load.start-too-far", finding=Message)
MessageCode("load.start-never-came", finding=Message)
