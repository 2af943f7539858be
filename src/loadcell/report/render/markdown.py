"""Writes a report as Markdown, its charts as SVG pictures beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import compress, groupby
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
    unfolded,
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


@dataclass(frozen=True)
class _Page:
    """State that the blocks of a document share: its texts, the anchors that something links to, whether
    charts refer to treatments by number, and the explanations that stand further up.
    """

    texts: Texts
    targets: frozenset[str] = frozenset()
    numbered: bool = True
    explained: set[str] = field(default_factory=set)

    def anchor(self, name: str) -> list[str]:
        """A place to link to, if anything does: what readers of Markdown make of a heading differs."""
        return [f'<a id="{name}"></a>', ""] if name in self.targets else []

    def explanation(self, sentences: Iterable[str]) -> list[str]:
        """These sentences without those that stand further up."""
        new = [sentence for sentence in sentences if sentence and sentence not in self.explained]
        self.explained.update(new)
        return [self.texts.joined(*map(coded, new)), ""] if new else []


def render(report: Report) -> str:
    """The text; it refers to the pictures by name."""
    texts = Texts(report.language, report.unit, micro=report.micro)
    numbered = any(texts("caption.index") in chart.captions for chart in report.pictures())
    page = _Page(texts, frozenset(_targets(report)), numbered)
    parts = [f"# {escaped(report.title)}"]
    if report.question:
        parts.append(f"*{escaped(report.question)}*")
    parts.append(" · ".join(escaped(text) for text, _ in report.badges))
    for section in report.sections:
        parts.append("\n".join([*page.anchor(section.id), f"## {escaped(section.title)}"]))
        parts += [text for block in section.blocks if (text := _block(block, page))]
    parts.append("---")
    parts.append(escaped(texts("page.footer", version=report.version, run=report.run_id)))
    return printable("\n\n".join(parts) + "\n")


def _targets(report: Report) -> Iterator[str]:
    """The anchors that findings link to."""
    for block in unfolded(block for section in report.sections for block in section.blocks):
        if isinstance(block, Sentences):
            yield from (link.anchor for link in block.links if link is not None)


def render_summary(summary: Summary) -> str:
    """A heading, and one line for each statement."""
    texts = Texts(summary.language, summary.unit)
    lines = [_block(statement, _Page(texts)) for statement in summary.statements]
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


def _block(block: Block, page: _Page) -> str:
    if isinstance(block, Paragraph):
        return f"[{coded(block.text)}](<{block.file}>)" if block.file else coded(block.text)
    if isinstance(block, Sentences):
        return _sentences(block, page.texts)
    if isinstance(block, Remark):
        colon = page.texts("mark.colon") if block.text else ""
        subject = f"**{escaped(block.subject)}**{colon}" if block.subject else ""
        return f"- {_sign(block.severity)}{subject}{coded(' '.join((block.text, block.advice)))}"
    if isinstance(block, Tiles):
        return ""  # the sentences below say the same
    if isinstance(block, Table):
        return _table(block, page)
    if isinstance(block, Definitions):
        head = [f"**{escaped(block.title)}**", ""] if block.title else []
        colon = page.texts("mark.colon")
        return "\n".join(
            [*head, *(f"- {escaped(name)}{colon}{coded(value)}" for name, value in block.entries)]
        )
    if isinstance(block, Code):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
        return f"{escaped(block.title)}\n\n{fence}{block.language}\n{block.text.rstrip()}\n{fence}"
    if isinstance(block, Chart):
        if block.detail:
            return ""
        title = escaped(block.title)
        picture = f"![]({PICTURES}/{block.id}.svg)"  # the title stands above
        lines = [*page.anchor(block.id), f"**{title}**", "", picture, "", *page.explanation(block.captions)]
        return "\n".join(lines).rstrip("\n")
    if isinstance(block, Flame):
        lines = [*page.anchor(block.id), f"**{escaped(block.title)}**", "", escaped(block.plain)]
        return "\n".join(lines)
    return _folded(block, page)


def _sentences(block: Sentences, texts: Texts) -> str:
    links = [
        f" [{escaped(link.title)}](#{link.anchor})" if link is not None else "" for link in block.links
    ] or [""] * len(block.findings)
    return "\n".join(
        f"- {_sign(finding.severity)}{coded(texts.parts(finding.message))}{link}"
        for finding, link in zip(block.findings, links, strict=True)
    )


def _sign(severity: Severity) -> str:
    return "**⚠** " if severity in {"caution", "problem"} else ""


def _folded(block: Details, page: _Page) -> str:
    rows = sum(len(inner.rows) for inner in block.blocks if isinstance(inner, Table))
    if block.instead is not None:
        return coded(block.instead)
    if rows > MOST_FOLDED_ROWS:
        return ""
    inner = "\n\n".join(text for item in block.blocks if (text := _block(item, page)))
    if not inner:
        return ""
    return f"<details><summary>{_html(block.title)}</summary>\n\n{inner}\n\n</details>"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _table(table: Table, page: _Page) -> str:
    number = page.texts("column.number")
    shown = [page.numbered or column.title != number for column in table.columns]
    columns = [*compress(table.columns, shown)]
    head = [escaped(column.title) for column in columns]
    rule = ["---:" if column.figure else "---" for column in columns]
    body = [
        [
            coded(cell.text) if column.sentences else _cell(cell.text, column.code)
            for cell, column in zip(compress(row, shown), columns, strict=True)
        ]
        for row in table.rows
    ]
    lines = [
        "| " + " | ".join(head) + " |",
        "|" + "|".join(rule) + "|",
        *("| " + " | ".join(row) + " |" for row in body),
    ]
    title = [] if table.only else [f"**{escaped(table.title)}**", ""]
    return "\n".join([*page.anchor(table.id), *title, *page.explanation([table.note]), *lines])


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
    elif chart.chooser in ("treatments", "faults"):
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
