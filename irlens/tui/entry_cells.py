"""What a row of the browser tells of an entry: words with styles, and what to sort them by."""

import re
from typing import TypeAlias

from irlens.model.comparison import Side
from irlens.model.config import Config, Target
from irlens.model.report import SEVERITIES, Occupancy
from irlens.model.text import count, percent, printable_line
from irlens.session.workbench import Entry
from irlens.tui.drawing import (
    BAD,
    DIM,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    WARN,
    bar,
    occupancy_style,
)

#: What puts texts in order by the numbers in them.
Natural: TypeAlias = tuple[tuple[int, int, str], ...]
Rank: TypeAlias = tuple[float, ...] | Natural | None
#: Words with the style of each; and the rank of the whole, ``None`` if it is not known.
Made: TypeAlias = tuple[list[tuple[str, str]], Rank]

#: Columns by name, with their titles.
TITLES = {
    "mark": "",
    "kernel": "kernel",
    "target": "target",
    "registers": "regs",
    "local": "local B",
    "shared": "shared B",
    "occupancy": "occup.",
    "bar": "",
    "findings": "findings",
    "pipelines": "stages",
    "settings": "settings",
}

#: What the signs in the first column mean.
MARKS = {
    "✗": "cannot launch, or cannot be read",
    "!": "spills, or keeps arrays in local memory",
    "○": "not compiled yet: Enter compiles it",
}
_BAR = 4
#: Pipelines whose stages are told; a kernel may have dozens of loops.
_PIPELINES = 4
_UNKNOWN = [("–", DIM)]
#: What stands where something is still being read.
NOT_YET = [("…", DIM)]


def cells(entry: Entry, apart: str = "") -> dict[str, Made]:
    """Return what stands in each column.

    Args:
        entry: The entry.
        apart: What sets it apart from other entries of its kernel: "num_warps=4", see ``side_of``.
    """
    held = entry.resources
    local = held.local_bytes if held is not None else None
    return {
        "mark": _mark(entry),
        "kernel": _word(entry.kernel),
        "target": _word(entry.target.arch if entry.target is not None else ""),
        "registers": _number(held.registers if held is not None else None),
        "local": _number(local, WARN if local else ""),
        "shared": _number(held.shared_dynamic_bytes if held is not None else None),
        "occupancy": _occupancy(entry.occupancy),
        "bar": _occupancy_bar(entry.occupancy),
        "pipelines": _pipelines(entry),
        "findings": _findings(entry),
        "settings": _settings(entry, apart),
    }


def side_of(entry: Entry, target: Target | None) -> Side | None:
    """Return an entry as ``model.label`` sets them apart; ``None`` where it is not compiled yet.

    Args:
        entry: The entry.
        target: The entry's; ``None`` where the target is told elsewhere.
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
    """Return how a kernel was compiled: options and constexprs by name, each once."""
    options = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas if config.num_ctas != 1 else None,
        "maxnreg": config.maxnreg,
    }
    told = {name: str(value) for name, value in options.items() if value is not None}
    return told | {
        printable_line(name): printable_line(str(value))
        for name, value in config.constexprs.items()
        if name not in told
    }


def searched(entry: Entry) -> str:
    """Return the text in which words are looked for."""
    held, occupancy, target = entry.resources, entry.occupancy, entry.target
    chosen = settings(entry.config) if entry.config is not None else {}
    words = [
        entry.kernel,
        entry.place,
        entry.problem,
        f"triton={entry.triton_version}",
        *([target.vendor, target.arch, target.product or ""] if target is not None else []),
        *(f"{name}={value}" for name, value in chosen.items()),
        *(f"{name}={value}" for name, value in (entry.config.args if entry.config else {}).items()),
        "spills" if held is not None and held.local_bytes else "",
        "cannot launch" if occupancy is not None and not occupancy.launchable else "",
        *(severity for severity in SEVERITIES if (entry.findings or {}).get(severity)),
    ]
    return " ".join(words)


def natural(text: str) -> Natural:
    """Return what puts texts in order by the numbers in them: sm_90 before sm_100."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]{1,18})", text)
    )


def mark(entry: Entry) -> str:
    """Return the sign of an entry, "" for one without."""
    if entry.problem or (entry.occupancy is not None and not entry.occupancy.launchable):
        return "✗"
    if entry.config is None:
        return "○"
    return "!" if entry.resources is not None and entry.resources.local_bytes else ""


def _mark(entry: Entry) -> Made:
    sign = mark(entry)
    styles = {"✗": BAD, "!": WARN, "○": DIM}
    return [(sign or " ", styles.get(sign, ""))], (float("✗!○".find(sign) if sign else 3),)


def _word(text: str) -> Made:
    shown = printable_line(text)
    return [(shown, "")], natural(shown) if shown else None


def _number(value: int | None, style: str = "") -> Made:
    return ([(count(value), style)], (value,)) if value is not None else (_UNKNOWN, None)


def _occupancy(occupancy: Occupancy | None) -> Made:
    if occupancy is None:
        return _UNKNOWN, None
    if not occupancy.launchable:
        return [("cannot launch", BAD)], (-1.0,)
    return [(percent(occupancy.theoretical), "")], (occupancy.theoretical,)


def _occupancy_bar(occupancy: Occupancy | None) -> Made:
    _, rank = _occupancy(occupancy)
    if occupancy is None or not occupancy.launchable:
        return [], rank
    return [(bar(occupancy.theoretical, _BAR), occupancy_style(occupancy))], rank


def _pipelines(entry: Entry) -> Made:
    if entry.stages is None:
        return (_UNKNOWN if entry.problem or entry.config is None else NOT_YET), None
    if not entry.stages:
        return _UNKNOWN, None
    pieces = []
    for achieved, asked in entry.stages[:_PIPELINES]:
        short = asked is not None and achieved < asked
        pieces.append((f"{achieved}/{asked or '?'}{'▾' if short else ''} ", WARN if short else ""))
    if len(entry.stages) > _PIPELINES:
        pieces.append((f"+{len(entry.stages) - _PIPELINES}", DIM))
    return pieces, tuple(float(achieved) for achieved, _ in entry.stages)


def _findings(entry: Entry) -> Made:
    if entry.findings is None:
        return (_UNKNOWN if entry.problem or entry.config is None else NOT_YET), None
    counts = [(severity, entry.findings.get(severity, 0)) for severity in SEVERITIES]
    pieces = [
        (f"{number}{SEVERITY_SIGN[severity]} ", SEVERITY_STYLE[severity])
        for severity, number in counts
        if number
    ]
    return pieces or [("none", DIM)], tuple(float(number) for _, number in counts)


def _settings(entry: Entry, apart: str) -> Made:
    if entry.problem:
        return [(printable_line(entry.problem), BAD)], None
    if entry.config is None:
        return [("not compiled yet", DIM)], None
    told = [f"{name}={value}" for name, value in settings(entry.config).items()]
    first = printable_line(apart)
    rest = " ".join(each for each in told if f" {each} " not in f" {first} ")
    pieces = [(first, ""), (" " if first and rest else "", ""), (rest, DIM)]
    return pieces, natural(f"{first} {rest}")
