"""Capture x Capture -> CodeComparison: what moved in the text of one stage, by what it does.

Held apart are what a statement says and which values it says it of. Names (SSA values, registers,
labels, attribute aliases, metadata numbers) may be others, as long as the same value is named
everywhere; source locations, comments, offsets and debug information do not count at all. In the
machine's code the numbers of registers are the allocator's choice: a register that is read stands
for the instructions that may have written it (``registers``).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from heapq import merge

from irlens.diff.code.align import align, side
from irlens.diff.code.declarations import Declarations
from irlens.diff.code.hunks import Enclosing, Rows, first_line, hunks
from irlens.diff.code.names import Correspondence
from irlens.diff.code.reading import STAGES, ReadStage, alike, check_stages, read, side_of
from irlens.diff.code.sequences import Pair
from irlens.diff.code.settling import settled
from irlens.diff.code.statements import Code
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison, CodeRow

__all__ = ["STAGES", "check_stages", "compare_code"]


def compare_code(
    before: Capture,
    after: Capture,
    stage: str,
    *,
    names: tuple[str, str] = ("before", "after"),
    context: int = 3,
) -> CodeComparison:
    """Return what moved in one stage.

    Args:
        before: The first side.
        after: The second side.
        stage: One of ``STAGES``.
        names: What to call the sides.
        context: Lines that are the same to show before and after those that are not.

    Raises:
        UnknownNameError: There is no such stage, or it is binary.
        ArtifactError: A side does not have it, or metadata is no JSON.
        ToolError: The disassembler is missing or failed.
    """
    check_stages([stage])
    with _no_collection():
        return _compare(before, after, stage, names, context)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector still: of a million records in no cycle it would find none.

    It takes a fifth of the time of a large comparison.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _compare(
    before: Capture, after: Capture, stage: str, names: tuple[str, str], context: int
) -> CodeComparison:
    ours, theirs = read(before, stage), read(after, stage)
    code, other = alike(ours, theirs)
    declared = Declarations(code.statements, other.statements)
    pairs = align(side(code, ours.loops, ours.loop_key), side(other, theirs.loops, theirs.loop_key))
    pairs, values = _settled(code, other, declared, pairs)
    rows = Rows(code.statements, other.statements, values)
    free = rows.all([*declared.pairs, *declared.changed(values)], ordered=False)
    moving = rows.all(pairs, ordered=True)
    heading = _Heading(ours, theirs)
    kinds = [row.kind for row in (*free, *moving)]
    return CodeComparison(
        stage=stage,
        before=side_of(before, names[0]),
        after=side_of(after, names[1]),
        different=any(kind != "same" for kind in kinds),
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        changed=kinds.count("changed"),
        before_lines=code.lines,
        after_lines=other.lines,
        hunks=list(
            merge(
                # What stands around a declaration has nothing to do with it.
                hunks([row for row in free if row.kind != "same"], rows, heading.of, 0),
                hunks(moving, rows, heading.of, context),
                key=first_line,
            )
        ),
    )


def _settled(
    code: Code, other: Code, declared: Declarations, pairs: list[Pair]
) -> tuple[list[Pair], Correspondence]:
    """Return which statements are the same, and with them which values."""
    ordered = (sum(each.ordered for each in side.statements) for side in (code, other))
    all_paired = all(count == len(pairs) for count in ordered)
    looks = (code.statements[i].looks_like(other.statements[j]) for i, j in pairs)
    # Where nothing looks other, what made one side lose its registers is one of these.
    compares_lost = code.lost == other.lost or (all_paired and all(looks))

    def corresponding(pairs: list[Pair], *, by_use: bool = False) -> Correspondence:
        return Correspondence(
            code.statements,
            other.statements,
            [*declared.pairs, *pairs],
            declared.certain,
            compares_lost=compares_lost,
            by_use=by_use,
        )

    values = corresponding(pairs)
    if all_paired:
        return pairs, values
    by_use = partial(corresponding, pairs, by_use=True)
    again = settled(code.statements, other.statements, pairs, values, by_use)
    return (again, corresponding(again)) if again != pairs else (pairs, values)


class _Heading:
    """Says what a row is in: the innermost loop, or else the function."""

    def __init__(self, before: ReadStage, after: ReadStage) -> None:
        self._sides = [
            (each, Enclosing([*each.code.functions, *each.loops])) for each in (before, after)
        ]

    def of(self, row: CodeRow) -> str:
        first, second = self._sides
        if row.after_line is not None:
            return self._told(*second, row.after_line)
        return self._told(*first, row.before_line or 0)

    @staticmethod
    def _told(stage: ReadStage, enclosing: Enclosing, line: int) -> str:
        scope = enclosing.at(line)
        if scope is None or scope.kind == "function":
            return scope.name if scope else ""
        at = f" at {scope.source}" if scope.source else ""
        return f"{scope.name}{at}  {stage.python(scope)}".rstrip()
