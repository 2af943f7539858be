"""Writes a report as Markdown, its charts as SVG pictures beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from urllib.parse import quote

from loadcell.model.json import JsonObject
from loadcell.model.message import Severity
from loadcell.model.printable import printable
from loadcell.report.blocks import (
    Block,
    Chart,
    Code,
    DataRow,
    Definitions,
    Details,
    Flame,
    Paragraph,
    Remark,
    Report,
    Sentences,
    Summary,
    Table,
    Tiles,
)
from loadcell.report.charts import series
from loadcell.report.charts.style import CONFIG
from loadcell.report.palette import LIGHT, resolved, sized
from loadcell.report.texts import Part, Piece, Texts, pieces

#: Directory of the pictures, beside the Markdown file.
PICTURES = "report-pictures"
WIDTH = 860
#: The letters whose widths pictures are laid out with: of their painter's this is Liberation Sans, which is
#: as wide as Arial and Helvetica. A typeface of Chinese beside it took three times as long.
MEASURED = "sans-serif"
#: What a reader's machine shows them in: as wide, or labels would be cut off at the edge; Chinese is as wide
#: in every typeface.
SHOWN = (
    'Arial, "Liberation Sans", Arimo, Helvetica, "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", '
    '"Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", sans-serif'
)
#: Rows a folded table may have before Markdown leaves it to the HTML report.
MOST_FOLDED_ROWS = 60

#: What would end a link's address in angle brackets, or act in it.
_NOT_IN_ADDRESS = re.compile(r"[\s<>\\]")
_MEASURED = re.compile(rf'(<text [^<>]*font-family="){MEASURED}(?=")')
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")
#: Where GitHub and GitLab find people, issues and other objects, or an address, in text that is no code: a
#: mark before a name or a number, and the beginning of an address. They look at the text behind entities and
#: backslashes, so that only a character within stops them.
_REFERENCE = re.compile(
    r"""[@#~](?=[\w"'])|[!$&^](?=\d)|(?<!\d)%(?=[\w"'])|:(?=//)|(?<![^\W_])www(?=\.)|\bGH(?=-\d)""",
    re.IGNORECASE,
)
#: WORD JOINER: has no width, and allows no line break.
_JOINER = "\u2060"
#: What a line must not begin with: a heading, a list, a rule.
_AT_START = re.compile(r"^(\d*)([-+=#.)])(?=[\s#=-]|$)")


def render(report: Report) -> str:
    """The text; it refers to the pictures by name."""
    texts = Texts(report.language, report.unit, micro=report.micro)
    parts = [f"# {escaped(report.title)}"]
    if report.question:
        parts.append(f"*{escaped(report.question)}*")
    parts.append(" · ".join(escaped(text) for text, _ in report.badges))
    for section in report.sections:
        parts.append(f"{_anchor(section.id)}\n\n## {escaped(section.title)}")
        parts += [text for block in section.blocks if (text := _block(block, texts))]
    parts.append("---")
    parts.append(escaped(texts("page.footer", version=report.version, run=report.run_id)))
    return printable("\n\n".join(parts) + "\n")


def render_summary(summary: Summary) -> str:
    """A heading, and one line for each statement."""
    texts = Texts(summary.language, summary.unit)
    lines = [_block(statement, texts) for statement in summary.statements]
    return printable(
        "\n".join([f"### {escaped(summary.title)}", "", *lines, _reference(summary, texts)]) + "\n"
    )


def _reference(summary: Summary, texts: Texts) -> str:
    """The place of the whole report: a link where it is an address."""
    if summary.location.startswith(("http://", "https://")):
        address = _NOT_IN_ADDRESS.sub(lambda match: quote(match[0]), summary.location)
        return f"- [{escaped(summary.report)}](<{address}>)"
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", summary.location)), default=0))
    return f"- {escaped(summary.report)}{texts('mark.colon')}{fence}{summary.location}{fence}"


def escaped(text: str) -> str:
    """Text that no Markdown reader takes for markup; on one line."""
    return _AT_START.sub(r"\1\\\2", _plain(" ".join(text.split())))


def _plain(text: str) -> str:
    """Text without markup, mentions of people, references and links."""
    return _SPECIAL.sub(r"\\\1", _REFERENCE.sub(rf"\g<0>{_JOINER}", text))


def coded(sentence: str | Iterable[Part]) -> str:
    """A sentence as text that no Markdown reader takes for markup, but for its code; on one line."""
    written = "".join(_span(piece.text) if piece.code else _plain(piece.text) for piece in _joined(sentence))
    return _AT_START.sub(r"\1\\\2", " ".join(written.split()))


def _joined(sentence: str | Iterable[Part]) -> list[Piece]:
    """The sentence without marks."""
    return [
        Piece("".join(piece.text for piece in alike), code=code)
        for code, alike in groupby(pieces(sentence), key=lambda piece: piece.code)
    ]


def _span(code: str) -> str:
    """Code within a line; a table takes what is between bars for cells, within code too."""
    return escaped(f"`{code}`") if "|" in code else f"`{code}`"


def _block(block: Block, texts: Texts) -> str:
    if isinstance(block, Paragraph):
        return coded(block.text)
    if isinstance(block, Sentences):
        return _sentences(block, texts)
    if isinstance(block, Remark):
        subject = f"**{escaped(block.subject)}** " if block.subject else ""
        return f"- {_sign(block.severity)}{subject}{coded(' '.join((block.text, block.advice)))}"
    if isinstance(block, Tiles):
        return ""  # the sentences below say the same
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Definitions):
        head = [f"**{escaped(block.title)}**", ""] if block.title else []
        colon = texts("mark.colon")
        return "\n".join(
            [*head, *(f"- {escaped(name)}{colon}{coded(value)}" for name, value in block.entries)]
        )
    if isinstance(block, Code):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
        return f"{escaped(block.title)}\n\n{fence}{block.language}\n{block.text.rstrip()}\n{fence}"
    if isinstance(block, Chart):
        if block.detail:
            return ""
        caption = " ".join(coded(text) for text in block.captions)
        title = escaped(block.title)
        return f"{_anchor(block.id)}\n\n**{title}**\n\n![{title}]({PICTURES}/{block.id}.svg)\n\n{caption}"
    if isinstance(block, Flame):
        return f"{_anchor(block.id)}\n\n**{escaped(block.title)}**\n\n{escaped(block.plain)}"
    return _folded(block, texts)


def _sentences(block: Sentences, texts: Texts) -> str:
    links = [f" [→ {escaped(link.title)}](#{link.anchor})" for link in block.links] or [""] * len(
        block.findings
    )
    return "\n".join(
        f"- {_sign(finding.severity)}{coded(texts.parts(finding.message))}{link}"
        for finding, link in zip(block.findings, links, strict=True)
    )


def _sign(severity: Severity) -> str:
    return "**⚠** " if severity in {"caution", "problem"} else ""


def _anchor(name: str) -> str:
    """A place to link to: what readers of Markdown make of a heading differs, most of all in Chinese."""
    return f'<a id="{name}"></a>'


def _folded(block: Details, texts: Texts) -> str:
    rows = sum(len(inner.rows) for inner in block.blocks if isinstance(inner, Table))
    if rows > MOST_FOLDED_ROWS:
        return ""
    inner = "\n\n".join(text for item in block.blocks if (text := _block(item, texts)))
    if not inner:
        return ""
    return f"<details><summary>{_html(block.title)}</summary>\n\n{inner}\n\n</details>"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _table(table: Table) -> str:
    head = [escaped(column.title) for column in table.columns]
    rule = ["---:" if column.figure else "---" for column in table.columns]
    body = [
        [
            coded(cell.text) if column.sentences else _cell(cell.text, column.code)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *body)]
    title = [] if table.only else [f"**{escaped(table.title)}**", ""]
    note = [coded(table.note), ""] if table.note else []
    return "\n".join([_anchor(table.id), "", *title, *note, *lines])


def _cell(text: str, code: bool) -> str:
    """A cell's text; code keeps its characters where a table can hold them."""
    if code and text and not set(text) & set("`|\n"):
        return f"`{text}`"
    return escaped(text)


def drawing(chart: Chart) -> JsonObject:
    """A chart to be painted, in light colours, on white: the trial or the treatments that the page shows at
    first.
    """
    data: dict[str, list[DataRow]] = dict(chart.data)
    if chart.chooser == "trial":
        data |= series.rows(chart, chart.chosen[0])
    elif chart.chooser == "treatments":
        data = {name: _of(rows, chart.chosen) for name, rows in data.items()}
    spec = _still(sized(chart, WIDTH))
    # Descriptions would be expressions of Vega with the names of levels in them, unescaped.
    spec["config"] = {**CONFIG, "font": MEASURED, "background": LIGHT["page"], "aria": False}
    coloured: JsonObject = json.loads(resolved(json.dumps(spec)))
    coloured["datasets"] = data
    return coloured


def lettered(picture: str) -> str:
    """A picture that was painted, in typefaces that a reader has."""
    return _MEASURED.sub(lambda match: match[1] + escape(SHOWN), picture)


def _still(spec: JsonObject) -> JsonObject:
    """Drop the invisible marks that only carry tooltips: a picture has none, and they take half the time."""
    for view in spec.get("vconcat") or [spec.get("spec", spec)]:
        view["layer"] = [
            layer
            for layer in view["layer"]
            if layer["mark"].get("opacity") != 0 or "tooltip" not in layer["encoding"]
        ]
    return spec


def _of(rows: Sequence[DataRow], treatments: Sequence[str]) -> list[DataRow]:
    return [row for row in rows if row["treatment"] in treatments]
