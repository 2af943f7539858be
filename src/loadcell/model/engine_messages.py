"""Message codes of the engine: outcomes of a load, its steps, and the remedies for error codes of servers and
of this machine.

The texts are in `messages-engine.toml` and `messages-remedies.toml`. Standard library only, because the
worker reports failures with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loadcell.model import catalogue
from loadcell.model.message import (
    NO_OUTPUT,
    Argument,
    Bytes,
    Count,
    ForeignText,
    Message,
    MessageCode,
    Rate,
    Seconds,
    declared,
    unit_of,
)

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject


def load_failure(code: str, finding: Message | str, remedy: Message | None) -> Message:
    """The failure of a load: its class, which is a server's or the engine's, and what was found."""
    text, advice = str(finding), "" if remedy is None else remedy.text
    arguments: dict[str, Argument] = {"finding": finding, "advice": advice}
    if remedy is not None:
        arguments["remedy"] = remedy
    return Message(f"load.{code}", arguments, recorded=(text, advice))


def engine_failure(document: JsonObject, protocol: str = "") -> Message:
    """The failure that the engine reports as `{"code", "reason": {"code", "args"}}`, of a load over
    `protocol`.

    The arguments `attempts` (of a step that was repeated), `rolled_back` (the server's error before a failed
    reconnection) and `group` (of a client group) belong to every reason.
    """
    code, reason = str(document["code"]), document["reason"]
    arguments = dict(reason["args"])
    group, attempts, rolled_back = (
        arguments.pop(name, None) for name in ("group", "attempts", "rolled_back")
    )
    finding = Message(
        str(reason["code"]),
        {name: _argument(reason["code"], name, value) for name, value in arguments.items()},
    )
    advice = f"{finding.code}.advice"
    remedy = (
        Message(advice, finding.arguments) if advice in catalogue.texts() else failure_remedy(protocol, code)
    )
    if attempts is not None:
        finding = Message("engine.attempts", {"attempts": attempts, "finding": finding})
        remedy = remedy or Message("engine.attempts.advice")
    if rolled_back is not None:
        finding = ROLLED_BACK(finding=finding, said=rolled_back)
    return load_failure(code, finding if group is None else _of_group(group, finding), remedy)


#: The engine's code for a script that the server refuses while a client connects.
_SCRIPT = "script"


def load_outcome(outcome: str, reason: JsonObject | None, protocol: str) -> Message:
    """Why a load ended before its time, from the code and the arguments of its outcome."""
    arguments = dict(reason or {})
    if outcome == "connect-failed" and arguments.get("code") == _SCRIPT:
        outcome = "script-refused"
    remedy = failure_remedy(protocol, arguments.get("code"))
    if outcome not in declared():
        unexplained = UNEXPLAINED(outcome=outcome)
        text, advice = unexplained.text, unexplained.advice
    else:
        if "said" in arguments and arguments["said"] is None:
            arguments["said"] = NO_OUTPUT
        exact = Message(_variant(outcome, arguments), arguments)
        group = arguments.get("group")
        text = str(exact if group is None else _of_group(group, exact))
        general = catalogue.texts().get(f"{outcome}.advice")
        advice = remedy.text if remedy is not None else ""
        if not advice and general is not None and "{" not in general["en"]:
            advice = general["en"]
    arguments |= {"finding": text, "advice": advice}
    if remedy is not None:
        arguments["remedy"] = remedy
    return Message(outcome, arguments, recorded=(text, advice))


def _argument(code: str, name: str, value: Any) -> Any:
    """An argument of the engine.

    A number that is neither a count nor has a unit names something (a limit, a version).
    """
    if not isinstance(value, int | float) or unit_of(name) is not None:
        return value
    declaration = declared().get(code)
    return value if declaration is not None and declaration.arguments.get(name) is Count else str(value)


def _variant(outcome: str, arguments: JsonObject) -> str:
    """The code of the text that fits an outcome's arguments."""
    if outcome == "lost" and not arguments.get("here"):
        return "lost-unreachable" if arguments.get("limit_s") else "lost-connections"
    if outcome == "connect-failed" and arguments.get("here"):
        return "connect-failed-here"
    return f"{outcome}.exact" if f"{outcome}.exact" in catalogue.texts() else outcome


def _of_group(group: str, finding: Message) -> Message:
    return Message("engine.group", {"group": group, "finding": finding})


def failure_remedy(protocol: str, code: str | None) -> Message | None:
    """The remedy for an error code in this protocol, or in any."""
    codes = (f"remedy.{protocol}.{code}", f"remedy.{code}")
    return next((Message(code) for code in codes if code in declared()), None)


def error_remedy(protocol: str, code: str, *, authorized: bool = False) -> Message | None:
    """The remedy for an error of single requests; a lack of resources of this machine comes first.

    `authorized`: the requests carry credentials.
    """
    if authorized and code == "http-401":
        return CREDENTIALS_REFUSED()
    shortage = f"short-of.{code}"
    return Message(shortage) if shortage in declared() else failure_remedy(protocol, code)


UNEXPLAINED = MessageCode("unexplained", outcome=str)
MessageCode("engine.error", said=ForeignText)
MessageCode("engine.aborted")
MessageCode("engine.group", finding=Message, group=str)
MessageCode("engine.attempts", attempts=Count, finding=Message)
ROLLED_BACK = MessageCode("engine.rolled-back", finding=Message, said=ForeignText)
MessageCode("engine.preparation-stopped")
MessageCode("engine.rows-missing", name=str, sent=Count, taken=Count)
MessageCode("engine.descriptors", allowed=Count, clients=Count, needed=str)
MessageCode("engine.threads", said=ForeignText)
MessageCode("engine.thread", said=ForeignText)
MessageCode("engine.host-name", host=str, said=ForeignText)
MessageCode("engine.tls-name", name=str)
MessageCode("engine.tls-root")
MessageCode("engine.tls-file", path=str, said=ForeignText)
MessageCode("engine.memory", available_bytes=Bytes, clients=Count, needed_bytes=Bytes)
MessageCode("engine.memory-files", available_bytes=Bytes, clients=Count, needed_bytes=Bytes, path=str)
MessageCode("engine.no-room", clients=Count, free_bytes=Bytes, kept_bytes=Bytes, needed_bytes=Bytes, path=str)
MessageCode(
    "engine.no-room-at-all", clients=Count, free_bytes=Bytes, kept_bytes=Bytes, needed_bytes=Bytes, path=str
)
MessageCode("engine.io-uring-missing", said=ForeignText)
MessageCode("engine.io-uring-memory", said=ForeignText)
MessageCode("engine.io-uring-forbidden", said=ForeignText)
MessageCode("engine.peer-name", peer=str, said=ForeignText)
MessageCode("engine.loopback", said=ForeignText)
MessageCode("engine.peer-gone", peer=str, said=ForeignText)
MessageCode("engine.peer-stranger", peer=str)
MessageCode("engine.peer-version", expected=str, found=str, peer=str)
MessageCode("engine.peer-full", peer=str)
MessageCode("engine.peer-silent", peer=str)
MessageCode("engine.listen", address=str, said=ForeignText)
MessageCode("engine.proxy", said=ForeignText)
MessageCode("engine.proxy-silent", limit_s=Seconds)
MessageCode("engine.listen-in-use", address=str, said=ForeignText)
MessageCode("engine.listen-elsewhere", address=str, said=ForeignText)
MessageCode("engine.listen-denied", address=str, said=ForeignText)
MessageCode("engine.merge.unreadable", index=Count, said=ForeignText)
MessageCode("engine.merge.nothing")
MessageCode("engine.merge.loop")
MessageCode("engine.merge.kind", operation=str)
MessageCode("engine.merge.arrivals")
MessageCode("engine.start-missed", late_s=Seconds)
MessageCode("engine.start-too-far", ahead_s=Seconds, beyond_s=Seconds)
MessageCode("engine.start-never-came", limit_s=Seconds)
MessageCode("engine.script", said=ForeignText)
MessageCode("engine.script-shell", said=ForeignText)
MessageCode("engine.spec.script", path=str, said=ForeignText)
MessageCode("engine.spec.unreadable", path=str, said=ForeignText)
MessageCode("engine.spec.value", path=str, value=str)
MessageCode("engine.spec.workload", path=str, workload=str)
MessageCode("engine.spec.version", expected=str, found=str)
MessageCode("engine.spec.only-postgres", workload=str)
MessageCode("engine.spec.extended-protocol")
MessageCode("engine.spec.tpcc-terminals", most=Count, terminals=Count, warehouses=Count)
MessageCode("engine.spec.keys-per-client", clients=Count, keys=Count)
MessageCode("engine.spec.command-quote", name=str)
MessageCode("engine.spec.command-placeholder", name=str, placeholder=str)
MessageCode("engine.spec.command-empty", name=str)
MessageCode("engine.spec.command-word", name=str)
MessageCode("engine.spec.stream-tls")
MessageCode("engine.spec.stream-text", text=ForeignText)
MessageCode("engine.spec.stream-size", size=Count, needed=Count)
MessageCode("engine.spec.stream-frame", bytes=Count, limit=Count)
MessageCode("engine.spec.stream-answers", answers=str, needs=str)
MessageCode("engine.spec.stream-key", key=str)
MessageCode("engine.spec.stream-source")
MessageCode(
    "engine.spec.stream-prepared",
    prepared=Count,
    size_bytes=Bytes,
    needed_bytes=Bytes,
    limit_bytes=Bytes,
    most=Count,
)
MessageCode("engine.stream-file", path=str, said=ForeignText)
MessageCode("engine.spec.command-answers", command=str, name=str)
MessageCode("engine.spec.command-destroys", command=str, name=str)
MessageCode("engine.spec.command-connection", command=str, name=str)
MessageCode("engine.spec.command-watch", command=str, name=str)
MessageCode("engine.spec.command-multi", command=str, name=str)
MessageCode("engine.spec.command-exec", command=str, name=str)
MessageCode("engine.spec.http-status", status=str)
MessageCode("engine.spec.streams-version", streams=str)
MessageCode("engine.spec.streams-keep-alive", streams=str)
MessageCode("engine.spec.shares")
MessageCode("engine.spec.no-parameter", parameter=str)
MessageCode("engine.spec.method", method=str)
MessageCode("engine.spec.path", request_path=str)
MessageCode("engine.spec.header", header=str)
MessageCode("engine.spec.header-http2", header=str)
MessageCode("engine.spec.header-own", header=str)
MessageCode("engine.spec.base64", said=ForeignText)
MessageCode("engine.spec.pattern", pattern=str, said=ForeignText)
MessageCode("engine.spec.pattern-size", pattern=str)
MessageCode("engine.spec.streams-scenario", streams=str)
MessageCode("engine.spec.json-path", found=str, json_path=str, position=str)
MessageCode("engine.spec.json-path-end", json_path=str, position=str)
MessageCode("engine.spec.variable-twice", variable=str)
MessageCode("engine.spec.variable-early", later=str, step=str, variable=str)
MessageCode("engine.spec.no-column", column=str, columns=str, name=str, step=str)
MessageCode("engine.spec.no-variable", names=str, step=str, variable=str)
MessageCode("lost-connections", said=ForeignText, where=str)
MessageCode("lost-unreachable", limit_s=Seconds, said=ForeignText, where=str)
MessageCode("connect-failed-here", clients=str, refused=str, said=ForeignText, where=str)
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
MessageCode("remedy.stream.connection")
MessageCode("remedy.stream.timeout")
MessageCode("remedy.stream.refused")
MessageCode("remedy.stream.reset")
MessageCode("remedy.stream.lost")
MessageCode("remedy.stream.duplicate")
MessageCode("remedy.stream.late")
MessageCode("remedy.stream.unknown")
MessageCode("remedy.stream.reordered")
MessageCode("remedy.stream.acknowledged-too-much")
MessageCode("remedy.stream.decreasing")
MessageCode("remedy.stream.service")
MessageCode("remedy.stream.garbage")
MessageCode("remedy.stream.frame")
MessageCode("remedy.stream.line")
MessageCode("remedy.stream.file")
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
MessageCode("remedy.http-401")
CREDENTIALS_REFUSED = MessageCode("remedy.http-401-authorized")
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
MessageCode("script-refused", finding=Message, said=ForeignText)
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
#: Overloaded while these faults were in effect, or just after their end.
OVERLOADED_IN_FAULT = MessageCode("overloaded.in-fault", faults=list, why=Message)
#: Each `reason_code` of a trial in which ever more was due than the target took.
OVERLOADED: Final = ("overloaded", OVERLOADED_IN_FAULT.code)
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
