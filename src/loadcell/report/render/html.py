"""Writes a report as one HTML page that carries everything it needs and asks the network for nothing."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import importlib.metadata
import json
import pickle
import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from loadcell.analysis.flames import Node, kind, plain
from loadcell.model.catalogue import cache_directory, keep
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.printable import json_printable
from loadcell.report import palette
from loadcell.report.blocks import FLAME_KINDS, Chart, DataRow, Flame, Report
from loadcell.report.charts.percentiles import MOST_SHOWN
from loadcell.report.charts.style import CONFIG
from loadcell.report.palette import DARK, LIGHT
from loadcell.report.pictures import VEGA_LITE
from loadcell.report.texts import Part, Texts, pieces

#: Colour themes that the page offers.
_THEME = Labels("page.theme", ("auto", "light", "dark"))
#: Tables with more rows than this can be filtered and scroll on their own.
LONG_TABLE = 36
PAGE = "page.html.j2"
NO_BREAK = "\u00a0"
#: A number and its unit, and a unit at the end of a heading, in the brackets of either language.
_MEASURED = re.compile(r"[<>±+-]?[\d,.]+ [^\W\d]{1,3}(/s)?|[\d,.]+ (min|h) [\d,.]+ (min|s)")
#: A date with its time, which is not broken after a hyphen.
_STAMP = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?")
_WORD = '<span class="word">{}</span>'
#: The space between a number and its unit, in text with numbers that are not marked.
_NUMBER = re.compile(r"(?<=\d) (?=(?:[KMGT]iB|B|ms|µs|s|min|h|d)\b)")
_NAME_PARTS = re.compile(r"(?<=[=,])(?=[^\W\d])")
_COUNT = re.compile(r"(?<=\d) (?=[^\W\d])")
_UNIT = re.compile(r"（[^（）]{1,5}）$|\([^()]{1,5}\)$")


@cache
def environment() -> Environment:
    """The templates, each compiled once."""
    made = Environment(
        loader=PackageLoader("loadcell.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled(),
    )
    made.filters["coded"] = coded
    made.filters["headed"] = headed
    made.filters["counted"] = counted
    made.filters["breakable"] = breakable
    return made


def render(report: Report) -> str:
    """The page. Text from outside is escaped by the template, and inside embedded JSON."""
    texts = Texts(report.language, report.unit, micro=report.micro)
    templates = environment()
    sources = {name: templates.loader.get_source(templates, name)[0] for name in ("flame.js", "page.js")}  # type: ignore[union-attr]
    scripts = {
        "flame": sources["flame.js"] if report.flames() else "",
        "page": sources["page.js"],
    }
    return templates.get_template(PAGE).render(
        report=report,
        t=texts,
        say=lambda phrase: coded(texts.parts(phrase)),
        language_tag={"en": "en", "zh": "zh-CN"}[report.language],
        style=Markup(templates.get_template("page.css.j2").render(light=LIGHT, dark=DARK)),  # noqa: S704 - ours
        data=embedded(_data(report, texts)),
        scripts={name: Markup(script) for name, script in scripts.items()},  # noqa: S704 - ours, from no input
        libraries=libraries() if report.charts() else "",
        policy=_policy(scripts.values()),
        long_table=LONG_TABLE,
        themes=_THEME.names,
        flame_kinds=FLAME_KINDS.names,
        most_treatments=MOST_SHOWN,
    )


def embedded(document: Any) -> Markup:
    """JSON to stand between script tags: nothing in it can end the tag or open another."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(json_printable(text))  # noqa: S704 - these lines are the escaping


def coded(sentence: str | Iterable[Part], with_units: bool = False) -> Markup:
    """A sentence with marked numbers and code; with `with_units` other numbers stay with their units."""
    written = []
    for code, alike in groupby(pieces(sentence), key=lambda piece: piece.code):
        inner = "".join(
            f"<b>{escape(_unbroken(piece.text))}</b>"
            if piece.figure
            else escape(_NUMBER.sub(NO_BREAK, piece.text) if with_units and not code else piece.text)
            for piece in alike
        )
        stamped = _STAMP.sub(lambda match: _WORD.format(match[0]), inner)
        written.append(f"<code>{_words(inner)}</code>" if code else stamped)
    return Markup("".join(written))  # noqa: S704 - every piece is escaped


def _words(code: str) -> str:
    """Code, whose words are not broken after a hyphen: that would be two options of a command."""

    def written(word: str) -> str:
        is_closed = word.count("<b>") == word.count("</b>")
        return _WORD.format(word) if "-" in word and is_closed else word

    return " ".join(map(written, code.split(" ")))


def _unbroken(figure: str) -> str:
    """A number and its unit stay on one line."""
    return figure.replace(" ", NO_BREAK) if _MEASURED.fullmatch(figure) else figure


def counted(text: str) -> str:
    """Keep each number with the noun it counts: `5 次正常、` and `1 次超时` on a line each; and each
    factor with its level.
    """
    return _COUNT.sub(NO_BREAK, text.replace(" = ", f"{NO_BREAK}={NO_BREAK}"))


def breakable(text: str) -> Markup:
    """Names of trials may be broken after each factor and each level."""
    return Markup("<wbr>").join(escape(part) for part in _NAME_PARTS.split(text))


def headed(title: str) -> Markup:
    """A column's heading: the unit in brackets at its end is not broken into lines."""
    match = _UNIT.search(title)
    if match is None:
        return escape(title)
    return Markup('{}<span class="unit">{}</span>').format(title[: match.start()], match[0])


def _policy(scripts: Any) -> str:
    """A content policy: no network, and no script but these.

    Vega compiles its expressions, hence unsafe-eval.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
        if script
    )
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _data(report: Report, texts: Texts) -> JsonObject:
    return {
        "charts": [_chart(chart) for chart in report.charts()],
        "flames": [_flame(graph) for graph in report.flames()],
        "config": CONFIG,
        "mostTreatments": MOST_SHOWN,
        "sizes": {
            "axis": palette.AXIS,
            "legend": palette.LEGEND,
            "gap": palette.GAP,
            "least": palette.LEAST,
            "beside": palette.MARGIN,
        },
        "failed": texts("page.chart-failed"),
    }


def _chart(chart: Chart) -> JsonObject:
    return {
        "id": chart.id,
        "spec": chart.spec,
        "columns": chart.columns,
        "legend": chart.legend,
        "chooser": chart.chooser,
        "chosen": list(chart.chosen),
        "data": {name: columnar(rows) for name, rows in chart.data.items()},
        "series": chart.series,
        "shares": chart.shares,
        "labels": dict(chart.choices) if chart.shares else {},
        "repeats": chart.repeats,
    }


def columnar(rows: list[DataRow]) -> dict[str, list[Any]]:
    """Rows as columns: a name is written once, not once a row; numbers get the digits that can be seen."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_short(row.get(name)) for row in rows] for name in names}


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _flame(flame: Flame) -> JsonObject:
    """A flame graph as the page's script draws it: every name once, and the tree as nested lists.

    `names` and `kinds` by number; `tree` is `[number, samples, [...]]`, calls in alphabetical order.
    """
    numbers: dict[tuple[str, str], int] = {}

    def listed(node: Node, kind: str) -> list[Any]:
        number = numbers.setdefault((plain(node.name), kind), len(numbers))
        return [number, node.samples, []]

    root = listed(flame.root, "process")
    waiting = [(flame.root, root)]
    while waiting:
        node, parent = waiting.pop()
        for name in sorted(node.below):
            below = node.below[name]
            made = listed(below, "process" if node is flame.root else kind(name))
            parent[2].append(made)
            waiting.append((below, made))
    return {
        "id": flame.id,
        "names": [name for name, _ in numbers],
        "kinds": [FLAME_KINDS.names.index(kind_of_number) for _, kind_of_number in numbers],
        "tree": root,
    }


def _made_by() -> str:
    return importlib.metadata.version("vl-convert-python")


def libraries() -> str:
    """vega, vega-lite and vega-embed as one script with the one global name `vegaEmbed`, compressed by gzip
    and in base64: half the size.

    A cache that cannot be read or written only costs time.
    """
    version = VEGA_LITE
    head, tail = f"vega {_made_by()} {version}\n", "\nend\n"
    previous: Path | None = None
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no home directory
        previous = cache_directory() / f"vega-{_made_by()}-{version}.gz.base64"
        text = previous.read_text(encoding="utf-8")
        if text.startswith(head) and text.endswith(tail):
            return text[len(head) : -len(tail)]
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    code = f'(() => {{"use strict";{script}}})();'
    text = base64.b64encode(gzip.compress(code.encode(), 9, mtime=0)).decode()
    if previous is not None:
        with contextlib.suppress(OSError):
            keep(previous, f"{head}{text}{tail}")
    return text


class Compiled(FileSystemBytecodeCache):
    """A cache that cannot be read or written, or that is damaged, only costs time.

    Jinja knows a template that has changed.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept of a template."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, by rename."""
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


def compiled() -> Compiled | None:
    """None where the user has no home."""
    try:
        return Compiled(str(cache_directory() / "templates"))
    except RuntimeError:
        return None
