"""Capture x Capture -> CodeComparison: what changed in the text of one stage, by meaning.

What a statement does is compared apart from the values it names. Names (SSA values, registers,
labels, attribute aliases, metadata numbers) may differ, as long as the same value is named
everywhere; source locations, comments, offsets and debug information do not count at all. In
machine code register numbers are up to the allocator: a register that is read stands for the
instructions that may have written it (``reaching``).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from heapq import merge

from irlens.analyze.capture_code import CaptureCode
from irlens.diff.code.alignment import align, shift_to_best_fit
from irlens.diff.code.correspondence import Correspondence, Declarations
from irlens.diff.code.hunks import Rows, first_line, hunks
from irlens.diff.code.patience import Pair
from irlens.diff.code.stage import (
    STAGES,
    ComparedStage,
    check_stages,
    read_stages,
    side_of,
    with_equal_kernel_names,
)
from irlens.diff.code.statements import Code, Enclosing
from irlens.model.code import CodeComparison, CodeRow

__all__ = ["STAGES", "check_stages", "compare_code"]


def compare_code(
    before: CaptureCode,
    after: CaptureCode,
    stage: str,
    *,
    names: tuple[str, str] = ("before", "after"),
    context: int = 3,
) -> CodeComparison:
    """Return what changed in one stage.

    Args:
        stage: One of ``STAGES``.
        names: Labels of the sides.
        context: Number of unchanged lines to show before and after changed ones.

    Raises:
        UnknownNameError: The stage does not exist, or is binary.
        ArtifactError: A side lacks it, metadata is no JSON, or both sides together are too long.
        ToolError: The disassembler is missing or failed.
    """
    check_stages([stage])
    with _no_collection():
        return _compare(before, after, stage, names, context)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable the garbage collector: a million records without a cycle leave it nothing to find.

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
    before: CaptureCode, after: CaptureCode, stage: str, names: tuple[str, str], context: int
) -> CodeComparison:
    stages = read_stages(before, after, stage)
    ours, theirs = with_equal_kernel_names(*stages)
    code, other = ours.code, theirs.code
    declared = Declarations(code.statements, other.statements)
    pairs = align(ours, theirs)
    pairs, values = _best_pairs(code, other, declared, pairs)
    rows = Rows(code.statements, other.statements, values)
    unordered = rows.all([*declared.pairs, *declared.changed(values)], ordered=False)
    ordered = rows.all(pairs, ordered=True)
    heading = _Heading(*stages)
    kinds = [row.kind for row in (*unordered, *ordered)]
    return CodeComparison(
        stage=stage,
        before=side_of(before.capture, names[0]),
        after=side_of(after.capture, names[1]),
        different=any(kind != "same" for kind in kinds),
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        changed=kinds.count("changed"),
        before_lines=code.lines,
        after_lines=other.lines,
        hunks=list(
            merge(
                # The lines around a declaration have nothing to do with it.
                hunks([row for row in unordered if row.kind != "same"], rows, heading.of, 0),
                hunks(ordered, rows, heading.of, context),
                key=first_line,
            )
        ),
    )


def _best_pairs(
    code: Code, other: Code, declared: Declarations, pairs: list[Pair]
) -> tuple[list[Pair], Correspondence]:
    """Return the statements that correspond, shifted where another fits better, and values."""
    ordered = (sum(each.ordered for each in side.statements) for side in (code, other))
    all_paired = all(count == len(pairs) for count in ordered)
    looks = (code.statements[i].looks_like(other.statements[j]) for i, j in pairs)
    # Where all statements look the same, a call that clobbers registers is one of them.
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
    shifted = shift_to_best_fit(code.statements, other.statements, pairs, values, by_use)
    return (shifted, corresponding(shifted)) if shifted != pairs else (pairs, values)


class _Heading:
    """Names the innermost loop around a row, or else the function."""

    def __init__(self, before: ComparedStage, after: ComparedStage) -> None:
        self._sides = [
            (each, Enclosing([*each.code.functions, *each.loops])) for each in (before, after)
        ]

    def of(self, row: CodeRow) -> str:
        first, second = self._sides
        if row.after_line is not None:
            return self._text(*second, row.after_line)
        return self._text(*first, row.before_line or 0)

    @staticmethod
    def _text(stage: ComparedStage, enclosing: Enclosing, line: int) -> str:
        scope = enclosing.at(line)
        if scope is None or scope.kind == "function":
            return scope.name if scope else ""
        at = f" at {scope.source}" if scope.source else ""
        return f"{scope.name}{at}  {stage.python(scope)}".rstrip()
