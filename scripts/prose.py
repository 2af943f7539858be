"""Check the texts that users read: the catalogue of messages, Markdown pages, comments of plans.

English: phrases of the list `[prose]`, and in the catalogue the length of sentences and their colons.
Chinese: the terms of `[chinese]`, and full-width punctuation. Code in backticks and fences is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

#: Most words of a sentence of the catalogue; a placeholder, or code between backticks, counts as one.
WORDS = 25
#: Most colons of a sentence of the catalogue.
COLONS = 1

HAN = r"\u3400-\u9fff"
_CODE = re.compile(r"`[^`\n]*`")
_PLACEHOLDER = re.compile(r"\{\w+(?:\|[^|{}]*\|[^|{}]*|:units)?\}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_COLON = re.compile(r":(?=\s|$)")
#: ASCII punctuation next to a Chinese character; a full stop only where a sentence ends.
_HALF_WIDTH = re.compile(
    rf"(?<=[{HAN}])[,;:!?()]|[,;!?()](?=[{HAN}])|:(?=\s?[{HAN}])|(?<=[{HAN}])\.(?=\s|$)|(?<=[{HAN}])\.\.\."
)
_TEXT = re.compile(r'^(?P<key>(?:[\w"-]+\.)*(?P<language>en|zh)) = (?P<text>"(?:\\.|[^"\\])*")\s*$')
_FENCE = re.compile(r"^\s*(?:>\s*)?(```|~~~)")
_LINK_TARGET = re.compile(r"(?<=\])\([^)\s]*\)|(?<=\])\[[^\]\n]*\]|<[^>\n]*>|https?://\S+")

#: Line, offending text, and what to write instead.
Hit = tuple[int, str, str]


class Prose:
    """Regular expressions of the lists `[prose]` and `[chinese]` of language.toml, each with its remedy."""

    def __init__(self, english: Mapping[str, str], chinese: Mapping[str, str]) -> None:
        # A phrase may be broken by an end of line.
        spaced = {pattern.replace(" ", r"\s+"): remedy for pattern, remedy in english.items()}
        self._english = [
            (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), remedy) for pattern, remedy in spaced.items()
        ]
        self._chinese = [(re.compile(pattern), remedy) for pattern, remedy in chinese.items()]

    def english(self, text: str) -> Iterator[Hit]:
        """Yield phrases that have a plainer word, each once per line. Lines count from 1."""
        prose = without_code(text)
        hits: dict[tuple[int, str], str] = {}
        for pattern, remedy in self._english:
            for match in pattern.finditer(prose):
                line = prose.count("\n", 0, match.start()) + 1
                hits.setdefault((line, " ".join(match[0].split()).lower()), remedy)
        yield from ((line, phrase, remedy) for (line, phrase), remedy in hits.items())

    def chinese(self, text: str) -> Iterator[Hit]:
        """Yield terms that have another translation, and half-width punctuation. Lines count from 1."""
        prose = without_code(text)
        for pattern, remedy in self._chinese:
            for match in pattern.finditer(prose):
                yield prose.count("\n", 0, match.start()) + 1, match[0], remedy
        for match in _HALF_WIDTH.finditer(prose):
            context = prose[max(match.start() - 4, 0) : match.end() + 4].replace("\n", " ")
            yield prose.count("\n", 0, match.start()) + 1, context, "full-width punctuation"

    def catalogue(self, text: str) -> Iterator[Hit]:
        """Yield the findings of a file of messages, by its line."""
        for number, line in enumerate(text.splitlines(), 1):
            if not (entry := _TEXT.match(line)):
                continue
            value = entry["text"][1:-1].replace(r"\"", '"').replace(r"\n", " ").replace("\\\\", "\\")
            hits = self.chinese(value) if entry["language"] == "zh" else self.english(value)
            yield from ((number, phrase, remedy) for _, phrase, remedy in hits)
            if entry["language"] == "en":
                yield from ((number, sentence, remedy) for sentence, remedy in long_sentences(value))

    def markdown(self, text: str) -> Iterator[Hit]:
        """Yield the findings of a page: in Chinese where it has Chinese lines, else in English."""
        prose = without_blocks(text)
        chinese = len(re.findall(rf"[{HAN}]", prose)) > len(prose) // 20
        yield from self.chinese(prose) if chinese else self.english(prose)

    def comments(self, text: str) -> Iterator[Hit]:
        """Yield the findings in the comments of a plan."""
        for number, line in enumerate(text.splitlines(), 1):
            if comment := re.search(r"(?:^|\s)#\s*(.*)$", line):
                hits = self.chinese if re.search(rf"[{HAN}]", comment[1]) else self.english
                yield from ((number, phrase, remedy) for _, phrase, remedy in hits(comment[1]))


def long_sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield sentences with too many words or colons, with the remedy."""
    plain = _PLACEHOLDER.sub("X", _CODE.sub("X", text))
    for sentence in _SENTENCE_END.split(plain):
        words = sum(any(letter.isalnum() for letter in word) for word in sentence.split())
        beginning = " ".join(sentence.split()[:6])
        if words > WORDS:
            yield f"{words} words: {beginning} …", f"at most {WORDS}, one idea a sentence"
        if len(_COLON.findall(sentence)) > COLONS:
            yield f"colons: {beginning} …", f"at most {COLONS} in a sentence"


def without_code(text: str) -> str:
    """Blank the code between backticks and the names of placeholders; positions stay."""
    code = _CODE.sub(lambda code: "`" + "x" * (len(code[0]) - 2) + "`", text)
    return re.sub(r"\{\w+", lambda name: "{" + "x" * (len(name[0]) - 1), code)


def without_blocks(text: str) -> str:
    """Blank fenced and indented code, targets of links and comments of a Markdown page; lines stay."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            lines.append("")
        elif fenced or line.startswith("    "):
            lines.append("")
        else:
            lines.append(_LINK_TARGET.sub("", line))
    return "\n".join(lines)
