"""Limits as nodes: for each size the smallest value at which something breaks, and why."""

from collections.abc import Iterator

from irlens.model.limits import Cause, Limit, LimitKind, Limits, SizeLimits
from irlens.model.text import count
from irlens.render.view.nodes import (
    Column,
    Headline,
    Node,
    Row,
    Run,
    Section,
    Sentence,
    Setting,
    Settings,
    Table,
    Tone,
    row,
)

_WORDS: dict[LimitKind, str] = {
    "overflow": "an offset overflows", "outside": "an access leaves its tensor",
    "grid": "the grid is too large", "fit": "a CTA does not fit", "compile": "does not compile",
}  # fmt: skip


def limits_view(limits: Limits) -> Section:
    """Return the limits of a kernel."""
    return Section(limits.kernel, tuple(_nodes(limits)), key="limits")


def _nodes(limits: Limits) -> Iterator[Node]:
    known = {"target": limits.target.full_name, "Triton": limits.triton_version}
    yield Settings(tuple(Setting(name, value) for name, value in known.items()))
    is_bad = any(each.limits for each in limits.sizes)
    unknown = any(each.unknown for each in limits.sizes)
    tone: Tone = "bad" if is_bad else "unknown" if unknown else "good"
    yield Headline(tuple(map(_verdict, limits.sizes)), tone)
    rows = tuple(_row(size, each) for size in limits.sizes for each in size.limits)
    if rows:
        yield Table((Column("from"), Column("breaks"), Column("where")), rows, "limits")
    for size in limits.sizes:
        if size.unknown:
            yield Sentence(f"More of {size.name} is unknown: {size.unknown}", "unknown")
    if any(not limit.is_exact for size in limits.sizes for limit in size.limits):
        yield Sentence("at most: of many programs some were evaluated, and others may break", "dim")


def _verdict(size: SizeLimits) -> Run:
    """Return up to which size nothing breaks."""
    if size.limits:
        least = size.limits[0]
        breaks = _words(least)
        most = "" if least.is_exact else "at most "
        return Run(f"{size.name}: {breaks} from {most}{count(least.size)} on", "bad")
    if size.unknown:
        return Run(f"{size.name}: unknown", "unknown")
    return Run(f"{size.name}: nothing breaks up to {count(size.last)}", "good")


def _words(limit: Limit) -> str:
    return "a mask overflows" if limit.cause.only_mask else _WORDS[limit.kind]


def _row(size: SizeLimits, limit: Limit) -> Row:
    where, why = _where(limit.cause), _why(limit)
    least = "=" if limit.is_exact else "≤"
    return row(f"{size.name} {least} {count(limit.size)}", _words(limit), where, note=why)


def _where(cause: Cause) -> str:
    parts = []
    if cause.source is not None:
        parts.append(f"{cause.operation} at {cause.source}")
    if cause.program is not None:
        parts.append(f"program ({', '.join(map(count, cause.program))})")
    return ", ".join(parts)


def _why(limit: Limit) -> str:
    """Return what exceeds what, and what to do."""
    cause = limit.cause
    if limit.kind in ("fit", "compile"):
        return cause.reason
    if limit.kind == "grid" and cause.value is not None and cause.most is not None:
        return f"{count(cause.value)} CTAs in {cause.word}, and the GPU takes {count(cause.most)}"
    if limit.kind == "outside" and cause.value is not None and cause.most is not None:
        at = f"byte {count(cause.value)} of {cause.argument}, which has {count(cause.most)} B"
        return f"{at}: mask the access in every dimension"
    if cause.value is None or cause.bits is None:
        return "an integer overflows before the access"
    place = f" at {cause.at}" if cause.at is not None else ""
    of = f" with {' and '.join(cause.factors)}" if cause.factors else ""
    exceeds = f"the {cause.word}{of}{place} is {count(cause.value)}, beyond int{cause.bits}"
    if cause.word == "conversion":
        return f"{exceeds}: remove the conversion"
    return f"{exceeds}: .to(tl.int64) on an operand"
