"""A recording of a browser (HAR): its requests to one host become the steps of a scenario."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from loadcell.drafting.contents import Contents
from loadcell.drafting.databases import reference
from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import OutsideTexts
from loadcell.drafting.plan import CLIENTS, load, plan
from loadcell.drafting.recording import Exchange, exchanges
from loadcell.drafting.scenario import Scenario
from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan.units import Duration

HAR_NOTHING = MessageCode("har.nothing", path=str)
HAR_NO_HOST = MessageCode("har.no-host", host=str, hosts=list)
HAR_OTHER_HOSTS = MessageCode("har.other-hosts", "caution", hosts=list)
HAR_STATIC = MessageCode("har.static", "info", count=Count)
HAR_UNANSWERED = MessageCode("har.unanswered", "caution", count=Count)
HAR_TOO_MANY = MessageCode("har.too-many", "caution", count=Count, most=Count)
HAR_TITLE = MessageCode("har.title", "info", host=str)
HAR_TARGET = MessageCode("har.target", "caution")
HAR_UNCOMPRESSED = MessageCode("har.uncompressed", "info")
HAR_COOKIES = MessageCode("har.cookies", "caution", names=list)
HAR_USERS = MessageCode("har.users", "info", examples=list)

_STATIC_KINDS = ("image/", "font/", "audio/", "video/", "text/css", "application/font")
_STATIC_WORDS = ("javascript", "wasm")
_STATIC_ENDINGS = (
    ".css", ".js", ".mjs", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico", ".woff",
    ".woff2", ".ttf", ".eot", ".mp4", ".webm", ".mp3", ".wasm", ".webmanifest",
)  # fmt: skip
#: A scenario is read and changed by people.
_MOST_STEPS = 150
_COOKIE = "LOADCELL_COOKIE"


def _recognises(contents: Contents) -> bool:
    document = contents.document
    log = document.get("log") if isinstance(document, dict) else None
    return isinstance(log, dict) and "entries" in log


def _draft(origin: Origin) -> Draft:
    assert origin.contents is not None
    recorded = list(exchanges(origin.contents.document, origin.name))
    chosen, notes = _chosen(recorded, origin)
    texts = OutsideTexts()
    scenario = Scenario(chosen, texts)
    steps = scenario.steps()
    if texts.has_secrets:  # they may stand in texts that were written before they were known
        scenario = Scenario(chosen, texts)
        steps = scenario.steps()
    work = Section()
    headers = scenario.headers()
    if headers:
        work.put("headers", headers)
    if scenario.foreign_cookies:
        cookie = {**headers, "Cookie": reference(_COOKIE)}
        work.put("headers", cookie, HAR_COOKIES(names=list(scenario.foreign_cookies)), active=False)
    if texts.has_secrets:
        work.put(
            "data",
            {"users": {"file": "users.csv"}},
            HAR_USERS(examples=["${users.name}", "${users.password}"]),
            active=False,
        )
    if texts.parameters():
        work.put("parameters", texts.parameters())
    work.put("steps", steps)
    target = Section()
    url = f"{chosen[0].scheme}://{chosen[0].host}"
    target.put("http", Section(url=url), HAR_TARGET())
    settings = load({"clients": CLIENTS, "duration": _duration(chosen, scenario.think_s)})
    section = plan(HAR_TITLE(host=chosen[0].host), target, Section(http=work), settings)
    return Draft(section, notes, texts.variables | {_COOKIE})


def _chosen(recorded: Sequence[Exchange], origin: Origin) -> tuple[list[Exchange], tuple[Message, ...]]:
    """The exchanges that become steps, and what is to be known of the others. Raises DraftError."""
    answered = [exchange for exchange in recorded if _is_answered(exchange)]
    dynamic = [exchange for exchange in answered if not _is_static(exchange)]
    hosts = Counter(exchange.host for exchange in dynamic)
    if not dynamic:
        raise DraftError(HAR_NOTHING(path=origin.name))
    host = hosts.most_common(1)[0][0]
    if origin.host is not None:
        matches = [name for name in hosts if origin.host.lower() in (name, name.rpartition(":")[0])]
        if not matches:
            raise DraftError(HAR_NO_HOST(host=origin.host, hosts=list(hosts)))
        host = matches[0]
    chosen = [exchange for exchange in dynamic if exchange.host == host]
    chosen.sort(key=lambda exchange: exchange.started_s or 0.0)
    notes: list[Message] = []
    others = [f"{name} ({count})" for name, count in hosts.most_common() if name != host]
    if others:
        notes.append(HAR_OTHER_HOSTS(hosts=others))
    static = sum(exchange.host == host for exchange in answered) - len(chosen)
    if static:
        notes.append(HAR_STATIC(count=static))
    if len(recorded) > len(answered):
        notes.append(HAR_UNANSWERED(count=len(recorded) - len(answered)))
    if len(chosen) > _MOST_STEPS:
        notes.append(HAR_TOO_MANY(count=len(chosen), most=_MOST_STEPS))
    if any(name.lower() == "accept-encoding" for exchange in chosen for name, _ in exchange.headers):
        notes.append(HAR_UNCOMPRESSED())
    return chosen[:_MOST_STEPS], tuple(notes)


def _is_answered(exchange: Exchange) -> bool:
    """True unless it was aborted, is a browser's question for permission, or no longer HTTP."""
    preflight = exchange.method == "OPTIONS" and any(
        name.lower() == "access-control-request-method" for name, _ in exchange.headers
    )
    return exchange.status >= 200 and exchange.scheme in ("http", "https") and not preflight


def _is_static(exchange: Exchange) -> bool:
    kind = exchange.answer_kind
    if exchange.method != "GET":
        return False
    return (
        kind.startswith(_STATIC_KINDS)
        or any(word in kind for word in _STATIC_WORDS)
        or exchange.path.lower().endswith(_STATIC_ENDINGS)
    )


def _duration(chosen: Sequence[Exchange], think_s: float) -> str:
    """Enough for three scenarios, from 30 s to 10 min."""
    scenario_s = think_s + sum(exchange.duration_s for exchange in chosen)
    return Duration(max(30, min(600, math.ceil(3 * scenario_s / 30) * 30))).text


DRAFT = Source(_draft, recognises=_recognises, file_kind="HAR")
