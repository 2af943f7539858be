"""Section of `loadcell check` on sizes: data relative to memory, clients relative to CPU threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadcell.model import numbers
from loadcell.model.message import Bytes, Count, Labels, Message, MessageCode, with_unit
from loadcell.plan.data_size import Cache
from loadcell.plan.sizing import STORAGE_TIMES, Concurrency, Sizing, Unsized
from loadcell.plan.treatment import short_keys
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.texts import Texts

SIZING = MessageCode("check-sizing.title", "info")
SCALE = MessageCode("check-sizing.scale", "info")
DATA = MessageCode("check-sizing.data", "info")
CACHE = MessageCode("check-sizing.cache", "info")
MEASURED = MessageCode("check-sizing.measured", "info")
IN_CACHE = MessageCode("check-sizing.in-cache", "info", setting=str, cache_bytes=Bytes)
IN_MEMORY = MessageCode("check-sizing.in-memory", "info", memory_bytes=Bytes)
WITH_OTHERS = MessageCode("check-sizing.with-others", "info", data_bytes=Bytes, total_bytes=Bytes)
FITS_TO = MessageCode("check-sizing.fits-to", "info", setting=str, scale=Count, cache=Message)
IN_MEMORY_TO = MessageCode("check-sizing.in-memory-to", "info", setting=str, scale=Count, cache=Message)
FITS_NONE = MessageCode("check-sizing.fits-none", "info", setting=str, cache=Message)
STORAGE_SCALES = MessageCode(
    "check-sizing.storage-scales",
    "info",
    first=Count,
    last=Count,
    lowest=Count,
    highest=Count,
    memory=Message,
)
UNSIZED = MessageCode(
    "check-sizing.unsized", "info", setting=str, scale=Count, data_bytes=Bytes, lowest=Count, highest=Count,
    cache=str,
)  # fmt: skip
UNSIZED_DATA = MessageCode("check-sizing.unsized-data", "info", data=str, cache=str)
CLIENTS_SHARED = MessageCode(
    "check-sizing.clients-shared", "info", noun=str, clients=str, cpus=Count, ratio=str
)
CLIENTS_APART = MessageCode(
    "check-sizing.clients-apart", "info", noun=str, clients=str, cpus=Count, client_cpus=Count, ratio=str
)
CLIENTS_ELSEWHERE = MessageCode(
    "check-sizing.clients-elsewhere", "info", noun=str, clients=str, client_cpus=Count
)
FEW_CLIENTS = MessageCode("check-sizing.few-clients", "caution", cpus=Count)
SINGLE_THREADED = MessageCode("check-sizing.single-threaded", "info")
RANGE = MessageCode("check-sizing.range", "info", first=str, last=str)
_POSITIONS = Labels(
    "sizing-position", ("in-memory", "cached", "page-cache", "between", "storage", "oversized", "too-large")
)

#: More rows are cut in the middle.
_MOST_ROWS = 12


def section(
    sizings: Sequence[Sizing],
    unsized: Sequence[Unsized],
    concurrencies: Sequence[Concurrency],
    texts: Texts,
) -> Section:
    """The section, without blocks of unknown values."""
    blocks = list(_data(sizings, texts))
    blocks += [Paragraph(texts.message(_unsized(item))) for item in unsized[:_MOST_ROWS]]
    for item in concurrencies[:_MOST_ROWS]:
        blocks.append(Paragraph(_joined(_clients(item, texts), texts)))
    return Section("sizing", texts.message(SIZING()), blocks)


def _data(sizings: Sequence[Sizing], texts: Texts) -> Iterator[Block]:
    """A row for data and cache, and a sentence for the scales that measure CPU or storage."""
    write = texts.message
    if not sizings:
        return
    short = _short_names(sizings)
    columns = [Column(write(head()), many=True) for head in (SCALE, DATA, CACHE, MEASURED)]
    rows = [
        [
            Cell(f"{short[sizing.path]} {with_unit(Count, sizing.size.scale)}"),
            Cell(_size(sizing, texts)),
            Cell(write(_cache(sizing))),
            Cell(texts(_POSITIONS(sizing.position))),
        ]
        for sizing in sizings
    ]
    if len(rows) > _MOST_ROWS:
        rows = [*rows[: _MOST_ROWS - 4], [Cell("...")] * len(columns), *rows[-3:]]
    yield Table("table-sizing", "", columns, rows)
    reported: dict[tuple[str, Cache, float, int], None] = {}
    for sizing in sizings:
        key = (sizing.path, sizing.cache, sizing.size.unit_bytes, sizing.other_bytes)
        if key not in reported:
            reported[key] = None
            yield Paragraph(_joined(_scales(sizing), texts))
        if len(reported) == _MOST_ROWS:
            return


def _unsized(item: Unsized) -> Message:
    """Data on a server of unknown memory, and the statement that shows it."""
    if item.size is None:
        return UNSIZED_DATA(data=item.questions.data, cache=item.questions.cache)
    lowest, highest = STORAGE_TIMES
    return UNSIZED(
        setting=item.path,
        scale=item.size.scale,
        data_bytes=item.size.size_bytes,
        lowest=lowest,
        highest=highest,
        cache=item.questions.cache,
    )


def _short_names(sizings: Sequence[Sizing]) -> Mapping[str, str]:
    paths = list(dict.fromkeys(sizing.path for sizing in sizings))
    return dict(zip(paths, short_keys(paths), strict=True))


def _scales(sizing: Sizing) -> Iterator[Message]:
    """Which scale fits the cache, and which measures storage."""
    setting, cache = sizing.path, _cache(sizing)
    if sizing.fits_to:
        code = IN_MEMORY_TO if sizing.storage is None else FITS_TO
        yield code(setting=setting, scale=_round(sizing.fits_to), cache=cache)
    else:
        yield FITS_NONE(setting=setting, cache=cache)
    if sizing.storage:
        lowest, highest = STORAGE_TIMES
        through_page_cache = sizing.cache.behind == "page-cache"
        memory = IN_MEMORY(memory_bytes=sizing.memory_bytes) if through_page_cache else cache
        first, last = sizing.storage
        yield STORAGE_SCALES(
            first=_round(first),
            last=_round(last),
            lowest=lowest,
            highest=highest,
            memory=memory,
        )


def _cache(sizing: Sizing) -> Message:
    if sizing.cache.setting:
        return IN_CACHE(setting=sizing.cache.setting, cache_bytes=sizing.cache_bytes)
    return IN_MEMORY(memory_bytes=sizing.cache_bytes)


def _size(sizing: Sizing, texts: Texts) -> str:
    if not sizing.other_bytes:
        return with_unit(Bytes, sizing.size.size_bytes)
    return texts.message(WITH_OTHERS(data_bytes=sizing.size.size_bytes, total_bytes=sizing.total_bytes))


def _clients(item: Concurrency, texts: Texts) -> Iterator[Message]:
    """Number of clients relative to the CPU threads of target and load generator."""
    noun = texts(f"sizing-client.{item.noun}")
    clients = _range(with_unit(Count, item.fewest), with_unit(Count, item.most), texts)
    if item.target_cpus is None:
        yield CLIENTS_ELSEWHERE(noun=noun, clients=clients, client_cpus=item.client_cpus)
        return
    ratio = _range(
        numbers.significant(item.fewest / item.target_cpus, 2),
        numbers.significant(item.most / item.target_cpus, 2),
        texts,
    )
    code = CLIENTS_SHARED if item.shared else CLIENTS_APART
    yield code.pick(
        noun=noun, clients=clients, cpus=item.target_cpus, client_cpus=item.client_cpus, ratio=ratio
    )
    if item.single_threaded:
        yield SINGLE_THREADED()
    elif item.closed and item.most < item.target_cpus:
        yield FEW_CLIENTS(cpus=item.target_cpus)


def _range(first: str, last: str, texts: Texts) -> str:
    return first if first == last else texts.message(RANGE(first=first, last=last))


def _joined(messages: Iterator[Message], texts: Texts) -> str:
    """Sentences in a line; Chinese has no space between them."""
    return ("" if texts.language == "zh" else " ").join(map(texts.message, messages))


def _round(scale: int) -> int:
    """Rounded to three digits, the precision of an estimate."""
    return round(scale, 3 - len(str(scale))) if scale >= 1_000 else scale
