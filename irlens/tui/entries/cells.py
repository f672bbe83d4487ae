"""The cells of an entry's row: styled text, and a sort key."""

import math
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from irlens.figures import Figure
from irlens.model.comparison import Side, Value
from irlens.model.config import Config, Target
from irlens.model.estimate import Standing
from irlens.model.report import SEVERITIES, Occupancy, Severity
from irlens.model.text import microseconds, printable_line
from irlens.render.view.characters import bar
from irlens.render.view.standings import against_cell
from irlens.session.exchange import Entry
from irlens.tui.drawing import (
    BAD,
    DIM,
    GOOD,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    STYLES,
    WARN,
    occupancy_style,
)
from irlens.tui.entries.columns import BROWSER_COLUMNS, CAPTURED, ESTIMATE, SETTINGS, STAGES

#: Orders texts by the numbers in them.
Natural: TypeAlias = tuple[tuple[int, int, str], ...]
#: A sort key; ``None`` for an unknown value.
SortKey: TypeAlias = tuple[float, ...] | Natural | None
#: Styled text, and the sort key of the cell.
Cell: TypeAlias = tuple[list[tuple[str, str]], SortKey]

#: The signs in the first column.
MARKS = {
    "✗": "cannot launch, or cannot be read",
    "!": "spills, or keeps arrays in local memory",
    "○": "not compiled yet: Enter compiles it",
}
_MARK_STYLES = {"✗": BAD, "!": WARN, "○": DIM}
_BAR_WIDTH = 4
#: Cells of a time: "17.2 µs".
_TIME_WIDTH = 7
#: Seconds.
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MONTH = 30 * _DAY
#: The most pipelines to list; a kernel may have dozens of loops.
_MAX_PIPELINES = 4
_UNKNOWN = [("–", DIM)]
#: The standing of an entry whose time is not known.
UNRANKED = Standing(time_us=None)
#: The text of a cell that is still loading.
LOADING = [("…", DIM)]


def cells(entry: Entry, distinction: str = "", standing: Standing = UNRANKED) -> dict[str, Cell]:
    """Return the cell of each column.

    Args:
        distinction: The settings that distinguish it from other entries of its kernel:
            "num_warps=4".
        standing: Its standing among those that solve the same problem.
    """
    drawn = {
        "mark": _mark(entry),
        "kernel": _word(entry.kernel),
        "target": _word(entry.target.arch if entry.target is not None else ""),
        "bar": _occupancy_bar(entry.occupancy),
        "findings": _findings(entry),
        ESTIMATE: estimate_cell(entry, standing),
        CAPTURED: captured_cell(entry, time.time()),
        SETTINGS: _settings(entry, distinction),
    }
    return drawn | {
        name: _stages(entry) if column.figure.path == STAGES else _figure(entry, column.figure)
        for name, column in BROWSER_COLUMNS.items()
        if column.figure is not None
    }


def estimate_cell(entry: Entry, standing: Standing) -> Cell:
    """Return the cell of the estimated time, and how it compares with the fastest."""
    if standing.time_us is None:
        return _not_analysed(entry) if entry.time is None else _UNKNOWN, None
    shown = f"{microseconds(standing.time_us):>{_TIME_WIDTH}}"
    pieces = [(shown, GOOD if standing.is_marked else "")]
    if standing.over_fastest is not None or standing.partial:
        against = against_cell(standing)
        pieces.append((f"  {against.text}", STYLES[against.tone] or DIM))
    return pieces, (float(standing.partial), standing.time_us)


def captured_cell(entry: Entry, now: float) -> Cell:
    """Return the cell that says when an entry was captured, as seen at ``now``."""
    if entry.modified is None:
        return _UNKNOWN, None
    return [(age(now - entry.modified, entry.modified), DIM)], (entry.modified,)


def age(seconds: float, then: float) -> str:
    """Return how long ago something was: "just now", "5 min ago", "3 d ago", "2026-05-31".

    Args:
        then: When, in seconds since the epoch; its date is used from a month on.
    """
    if seconds < _MINUTE:
        return "just now"
    for unit, name, until in ((_MINUTE, "min", _HOUR), (_HOUR, "h", _DAY), (_DAY, "d", _MONTH)):
        if seconds < until:
            return f"{int(seconds / unit)} {name} ago"
    return time.strftime("%Y-%m-%d", time.localtime(then))


def finding_pieces(findings: Mapping[Severity, int]) -> list[tuple[str, str]]:
    """Return the number of findings by severity: "1✗ 2▲ 3•"; empty if there are none."""
    return [
        (f"{findings[severity]}{SEVERITY_SIGN[severity]} ", SEVERITY_STYLE[severity])
        for severity in SEVERITIES
        if findings.get(severity)
    ]


def side_of(entry: Entry, target: Target | None) -> Side | None:
    """Return an entry as ``model.label`` compares them; ``None`` if it is not compiled yet.

    Args:
        target: The entry's target; ``None`` if the label need not tell targets apart.
    """
    if entry.config is None:
        return None
    return Side(
        kernel=entry.kernel,
        target=target,
        triton_version=entry.triton_version,
        config=entry.config,
        label="",
    )


def settings(config: Config) -> dict[str, str]:
    """Return options and constexprs by name, each once."""
    options = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas if config.num_ctas != 1 else None,
        "maxnreg": config.maxnreg,
        **{printable_line(name): value for name, value in (config.options or {}).items()},
    }
    known = {n: printable_line(str(value)) for n, value in options.items() if value is not None}
    return known | {
        printable_line(name): printable_line(str(value))
        for name, value in config.constexprs.items()
        if name not in known
    }


def search_text(entry: Entry) -> str:
    """Return the text in which a filter looks for words."""
    resources, occupancy, target = entry.resources, entry.occupancy, entry.target
    chosen = settings(entry.config) if entry.config is not None else {}
    arguments = entry.config.args if entry.config is not None else {}
    words = [
        entry.kernel,
        entry.place,
        entry.problem,
        f"triton={entry.triton_version}",
        *([target.vendor, target.arch, target.product or ""] if target is not None else []),
        *(f"{name}={value}" for name, value in chosen.items()),
        *(f"{name}={value}" for name, value in arguments.items()),
        "spills" if resources is not None and resources.local_bytes else "",
        "cannot launch" if occupancy is not None and not occupancy.launchable else "",
        *(severity for severity in SEVERITIES if (entry.findings or {}).get(severity)),
    ]
    return " ".join(words)


def is_case_sensitive(word: str) -> bool:
    """Return whether a word of a filter matches only the same capital letters."""
    return word != word.lower()


@lru_cache(maxsize=1 << 12)
def natural(text: str) -> Natural:
    """Return a sort key that orders texts by the numbers in them: sm_90 before sm_100."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]{1,18})", text)
    )


def mark(entry: Entry) -> str:
    """Return the sign of an entry, "" for none."""
    if entry.problem or (entry.occupancy is not None and not entry.occupancy.launchable):
        return "✗"
    if entry.config is None:
        return "○"
    return "!" if entry.resources is not None and entry.resources.local_bytes else ""


def _mark(entry: Entry) -> Cell:
    sign = mark(entry)
    key = float("✗!○".find(sign) if sign else 3)
    return [(sign or " ", _MARK_STYLES.get(sign, ""))], (key,)


def _word(text: str) -> Cell:
    shown = printable_line(text)
    return [(shown, "")], natural(shown) if shown else None


def _figure(entry: Entry, row: Figure) -> Cell:
    """Draw a column of the registry; an element's unknown value counts as the least."""
    if row.path.startswith("occupancy.") and entry.occupancy and not entry.occupancy.launchable:
        return [("cannot launch", BAD)], (-1.0,)
    values = entry.values(row)
    if values is None:
        return _not_analysed(entry), None
    return _drawn(row, values, tuple(map(type, values)))


@lru_cache(maxsize=1 << 12)
def _drawn(row: Figure, values: tuple[Value, ...], _: tuple[type, ...]) -> Cell:
    """Draw known values of a column; their types tell 1 from 1.0 and True among those drawn."""
    if all(value is None for value in values):
        return _UNKNOWN, None
    # What had better not be there at all, such as local memory, is a warning.
    is_bad = row.importance == "much" and row.better == "less" and any(values)
    text = printable_line(" ".join(map(row.cell, values)))
    if row.unit == "word":
        return [(text, WARN if is_bad else "")], natural(text)
    numbers = (value if isinstance(value, int | float) else -math.inf for value in values)
    return [(text, WARN if is_bad else "")], tuple(map(float, numbers))


def _occupancy_bar(occupancy: Occupancy | None) -> Cell:
    if occupancy is None or not occupancy.launchable:
        return [], None
    return [(bar(occupancy.theoretical, _BAR_WIDTH), occupancy_style(occupancy))], None


def _stages(entry: Entry) -> Cell:
    if entry.stages is None:
        return _not_analysed(entry), None
    if not entry.stages:
        return _UNKNOWN, None
    pieces = []
    for achieved, requested in entry.stages[:_MAX_PIPELINES]:
        is_short = requested is not None and achieved < requested
        text = f"{achieved}/{requested or '?'}{'▾' if is_short else ''} "
        pieces.append((text, WARN if is_short else ""))
    if len(entry.stages) > _MAX_PIPELINES:
        pieces.append((f"+{len(entry.stages) - _MAX_PIPELINES}", DIM))
    return pieces, tuple(float(achieved) for achieved, _ in entry.stages)


def _findings(entry: Entry) -> Cell:
    if entry.findings is None:
        return _not_analysed(entry), None
    numbers = tuple(float(entry.findings.get(severity, 0)) for severity in SEVERITIES)
    return finding_pieces(entry.findings) or [("none", DIM)], numbers


def _not_analysed(entry: Entry) -> list[tuple[str, str]]:
    return _UNKNOWN if entry.problem or entry.config is None else LOADING


def _settings(entry: Entry, distinction: str) -> Cell:
    if entry.problem:
        return [(printable_line(entry.problem), BAD)], None
    if entry.config is None:
        place = f"{printable_line(entry.place)}  " if entry.place else ""
        return [(place, ""), ("not compiled yet", DIM)], None
    pairs = [f"{name}={value}" for name, value in settings(entry.config).items()]
    first = printable_line(distinction)
    rest = " ".join(pair for pair in pairs if f" {pair} " not in f" {first} ")
    pieces = [(first, ""), (" " if first and rest else "", ""), (rest, DIM)]
    return pieces, natural(f"{first} {rest}")
