"""Capture x Capture -> CodeComparison: what changed in the text of one stage, by meaning.

What a statement does is compared apart from the values it names. Names (SSA values, registers,
labels, attribute aliases, metadata numbers) may differ, as long as the same value is named
everywhere; source locations, comments, offsets and debug information do not count at all. In
machine code register numbers are up to the allocator: a register that is read stands for the
instructions that may have written it (``reaching``).
"""

import gc
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import merge
from itertools import groupby
from typing import NamedTuple

from irlens.analyze.capture_code import CaptureCode
from irlens.diff.code.alignment import align, shift_to_best_fit
from irlens.diff.code.correspondence import DEFINITION_VOTES, Correspondence, Declarations
from irlens.diff.code.patience import Pair, anchored
from irlens.diff.code.stage import (
    STAGES,
    ComparedStage,
    check_stages,
    read_stages,
    with_equal_kernel_names,
)
from irlens.diff.code.statements import Code, Enclosing, Name, Statement
from irlens.isa.syntax import STRING
from irlens.model.code import CodeComparison, CodeHunk, CodeRow, Columns, RowKind
from irlens.model.comparison import side_of

__all__ = ["STAGES", "check_stages", "compare_code"]

_WORD = re.compile(rf"{STRING}|[@!#%.]?[\w$]+(?:\.[\w$]+)*|\S")


class Row(NamedTuple):
    """A statement on both sides, by index; ``None`` where a side does not have it."""

    kind: RowKind
    before: int | None
    after: int | None
    before_words: tuple[Columns, ...] = ()
    after_words: tuple[Columns, ...] = ()


class Rows:
    """Makes rows of the statements of two sides.

    Args:
        values: Which value of the one is which of the other.
    """

    def __init__(
        self, before: Sequence[Statement], after: Sequence[Statement], values: Correspondence
    ) -> None:
        self._before = before
        self._after = after
        self._values = values

    def unordered(self, pairs: Sequence[Pair]) -> list[Row]:
        """Return a row for each unordered statement: those removed, then the second side's.

        Args:
            pairs: Those of them that both sides have.
        """
        kept = {j: i for i, j in pairs}
        gone = (i for i, each in enumerate(self._before) if not each.ordered)
        rows = [Row("removed", i, None) for i in gone if i not in {a for a, _ in pairs}]
        return rows + [
            self._pair(kept[j], j) if j in kept else Row("added", None, j)
            for j, each in enumerate(self._after)
            if not each.ordered
        ]

    def ordered(self, pairs: Sequence[Pair]) -> list[Row]:
        """Return a row for each ordered statement.

        Args:
            pairs: Those of them that both sides have, in the order of both.
        """
        return list(self._merged(pairs))

    def _merged(self, pairs: Sequence[Pair]) -> Iterator[Row]:
        ours = [i for i, each in enumerate(self._before) if each.ordered]
        theirs = [j for j, each in enumerate(self._after) if each.ordered]
        at = other_at = 0
        for i, j in [*pairs, (None, None)]:
            while at < len(ours) and ours[at] != i:
                yield Row("removed", ours[at], None)
                at += 1
            while other_at < len(theirs) and theirs[other_at] != j:
                yield Row("added", None, theirs[other_at])
                other_at += 1
            if i is not None and j is not None:
                yield self._pair(i, j)
                at += 1
                other_at += 1

    def _pair(self, i: int, j: int) -> Row:
        ours, theirs = self._before[i], self._after[j]
        if ours.looks_like(theirs) and not self._values.differing(ours, theirs):
            return Row("same", i, j)
        return Row("changed", i, j, *differing_columns(ours, theirs, self._values))

    def record(self, row: Row) -> CodeRow:
        """Return a row as a record."""
        ours = self._before[row.before] if row.before is not None else None
        theirs = self._after[row.after] if row.after is not None else None
        return CodeRow(
            kind=row.kind,
            before_line=ours.line if ours else None,
            after_line=theirs.line if theirs else None,
            before=ours.text if ours else None,
            after=theirs.text if theirs else None,
            before_words=row.before_words,
            after_words=row.after_words,
        )


def hunks(
    rows: Sequence[Row], maker: Rows, heading: Callable[[CodeRow], str], context: int
) -> Iterator[CodeHunk]:
    """Yield the rows that changed, in hunks.

    Args:
        heading: Returns a hunk's heading by its first changed row.
        context: Number of unchanged rows to show before and after changed ones.
    """
    changed = [index for index, row in enumerate(rows) if row.kind != "same"]
    at = 0
    while at < len(changed):
        first = at
        while at + 1 < len(changed) and changed[at + 1] - changed[at] <= 2 * context + 1:
            at += 1
        start, stop = max(changed[first] - context, 0), min(changed[at] + context + 1, len(rows))
        shown = [maker.record(row) for row in rows[start:stop]]
        yield CodeHunk(heading=heading(shown[changed[first] - start]), rows=shown)
        at += 1


def first_line(hunk: CodeHunk) -> int:
    """Return the line at which a hunk begins, of the second side if that has it."""
    row = hunk.rows[0]
    return row.after_line or row.before_line or 0


class _Token(NamedTuple):
    key: Hashable
    columns: Columns


def differing_columns(
    ours: Statement, theirs: Statement, values: Correspondence
) -> tuple[tuple[Columns, ...], tuple[Columns, ...]]:
    """Return the columns of two statements that differ in meaning; none if nothing does."""
    if ours.looks_like(theirs):
        differing = values.differing(ours, theirs)
        # Each register of an operand is a name of its own, at the same columns.
        return _unique(one.columns for one, _ in differing), _unique(
            two.columns for _, two in differing
        )
    one = list(_tokens(ours, lambda name: ("value", values.of(name.value), name.value)))
    other = list(_tokens(theirs, lambda name: ("value", name.value, values.origin(name.value))))
    # Without an anchor, any comma would match.
    same = sorted(anchored([t.key for t in one], [t.key for t in other])[0])
    left = set(range(len(one))) - {i for i, _ in same}
    right = set(range(len(other))) - {j for _, j in same}
    return _joined(ours, one, left), _joined(theirs, other, right)


def _unique(columns: Iterable[Columns]) -> tuple[Columns, ...]:
    return tuple(dict.fromkeys(columns))


def _tokens(statement: Statement, key: Callable[[Name], Hashable]) -> Iterator[_Token]:
    at = 0
    known: list[tuple[Columns, Hashable]] = [
        (columns, tuple(map(key, named)))
        for columns, named in groupby(statement.names, key=lambda name: name.columns)
    ]
    known += [(columns, None) for columns in statement.noise]
    for columns, named in [
        *sorted(known, key=lambda each: each[0]),
        ((len(statement.text),) * 2, None),
    ]:
        for word in _WORD.finditer(statement.text, at, max(columns[0], at)):
            yield _Token(word.group(), word.span())
        if named is not None:
            yield _Token(named, columns)
        at = max(at, columns[1])


def _joined(statement: Statement, tokens: list[_Token], differing: set[int]) -> tuple[Columns, ...]:
    """Join neighbours with nothing but blanks between them."""
    joined: list[Columns] = []
    for index in sorted(differing):
        start, stop = tokens[index].columns
        if joined and not statement.text[joined[-1][1] : start].strip():
            start = joined.pop()[0]
        joined.append((start, stop))
    return tuple(joined)


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
    unordered = rows.unordered([*declared.pairs, *declared.changed(values)])
    ordered = rows.ordered(pairs)
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

    def corresponding(
        pairs: list[Pair], definition_votes: int = DEFINITION_VOTES
    ) -> Correspondence:
        return Correspondence(
            code.statements,
            other.statements,
            [*declared.pairs, *pairs],
            declared.certain,
            compares_lost=compares_lost,
            definition_votes=definition_votes,
        )

    values = corresponding(pairs)
    if all_paired:
        return pairs, values
    by_use = partial(corresponding, pairs, definition_votes=0)
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
