"""Occupancy: how full an SM gets, what each resource would allow, and where the next steps are."""

from collections.abc import Iterator

from textual.content import Content

from irlens.model.curve import OccupancyCurve
from irlens.model.report import LimitName, Occupancy, Report
from irlens.model.text import count, percent, plural
from irlens.model.words import Words, describe_waves
from irlens.tui.drawing import (
    BAD,
    DIM,
    MAIN,
    WARN,
    bar,
    cut,
    flowing,
    hanging,
    lines,
    occupancy_style,
    upright,
)

TITLE = "Occupancy"

_LIMITS: tuple[LimitName, ...] = ("registers", "shared_memory", "warps", "barriers", "blocks")
_LABEL = 15
_NUMBER = 5
_THIN = "━"


def draw(report: Report, shown: Occupancy | None, width: int) -> Content:
    """Draw an occupancy.

    Args:
        report: What was compiled.
        shown: The occupancy to draw: the report's own, or that of other demands.
        width: Cells.
    """
    if shown is None:
        reason = report.unknown.get("occupancy", "")
        return Content.assemble(("unknown", WARN), f"  {reason}")
    return lines(list(_rows(report, shown, Words(report), width)))


def _rows(report: Report, shown: Occupancy, words: Words, width: int) -> Iterator[Content]:
    yield _headline(shown, words, width)
    if shown.launchable:
        told = f"{plural(shown.blocks_per_sm, words.block)}/{words.sm}"
        limits = ", ".join(words.resource(name) for name in shown.limited_by)
        yield Content.assemble(told, (" · limited by ", DIM), limits)
    for refusal in shown.refusals:
        yield hanging(Content(""), words.refusal(refusal), BAD, width)
    for step in shown.next_step:
        yield hanging(Content(""), words.step(step, shown), "", width)
    if shown is report.occupancy and (waves := describe_waves(shown)):
        yield flowing(Content(""), [Content.styled(told, DIM) for told in waves], ", ", width)
    yield Content("")
    yield Content.styled(f"{words.block}s/{words.sm} that each would allow", DIM)
    yield from _limits(shown, words, width)


def _headline(shown: Occupancy, words: Words, width: int) -> Content:
    if not shown.launchable:
        return Content.styled("cannot launch", f"{BAD} bold")
    share = percent(shown.theoretical)
    held = f"{shown.active_warps} of {plural(shown.max_warps, words.warp)}"
    room = max(width - len(share) - len(held) - 4, 4)
    return Content.assemble(
        (share, "bold"),
        "  ",
        (bar(shown.theoretical, room), occupancy_style(shown)),
        (f"  {held}", DIM),
    )


def _limits(shown: Occupancy, words: Words, width: int) -> Iterator[Content]:
    found = {name: getattr(shown.limits, name) for name in _LIMITS}
    most = max((limit for limit in found.values() if limit is not None), default=1)
    room = max(width - _LABEL - _NUMBER - 4, 4)
    for name, limit in found.items():
        if limit is None:
            continue
        decides = name in shown.limited_by
        drawn = bar(limit / max(most, 1), room).rstrip()
        yield Content.assemble(
            (words.resource(name).ljust(_LABEL), "" if decides else DIM),
            f"{limit:>{_NUMBER}} ",
            # The shortest decides: the others are not to outshine it.
            (f"{drawn} ◀", MAIN) if decides else (_THIN * len(drawn), DIM),
        )


def draw_curve(curve: OccupancyCurve, at: int, words: Words, width: int, height: int) -> Content:
    """Draw the CTAs that fit over the amount of a resource, as a staircase with a mark.

    Args:
        curve: What to draw.
        at: The amount to mark.
        words: The vendor's.
        width: Cells.
        height: Lines, without that of the mark.
    """
    first = curve.steps[0][0]
    columns = max(width - 4, 8)
    span = max(curve.last - first, 1)
    most = max(blocks for _, blocks in curve.steps)
    here = min(max(round((at - first) / span * (columns - 1)), 0), columns - 1)
    tops = [
        _blocks(curve, first + round(span * column / (columns - 1))) for column in range(columns)
    ]
    tops[here] = _blocks(curve, at)  # exactly: a cliff may be between two columns
    told = f"{words.block}s/{words.sm} over {words.unit(curve.unit)}"
    if most == 0:  # something else has no room
        return Content.styled(cut(f"{told}: 0 with any", width), DIM)
    rows = [Content.styled(cut(told, width), DIM)]
    stairs = upright([round(top / most * height * 8) for top in tops], height)
    for row, drawn in enumerate(stairs):
        label = "    " if row else f"{most:>3} "
        rows.append(
            Content.assemble(
                (label, DIM), (drawn[:here], DIM), (drawn[here], MAIN), (drawn[here + 1 :], DIM)
            )
        )
    rows.append(_mark(curve, at, here, columns, words))
    return lines(rows)


def _mark(curve: OccupancyCurve, at: int, here: int, columns: int, words: Words) -> Content:
    """The mark under a column, with the amount beside it where there is room."""
    amount, column = f"{count(at)} {words.unit(curve.unit)}", here + 4
    if here + 2 + len(amount) <= columns:
        return Content.styled(f"{' ' * column}▲ {amount}", MAIN)
    before = f"{amount} " if column > len(amount) else ""
    return Content.styled(f"{before.rjust(column)}▲", MAIN)


def _blocks(curve: OccupancyCurve, amount: int) -> int:
    """The CTAs that fit with an amount of the resource."""
    found = 0
    for start, blocks in curve.steps:
        if start > amount:
            break
        found = blocks
    return found
