"""From pairs of statements to hunks: what moved, with some of what stands around it."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from irlens.diff.code.loops import nested
from irlens.diff.code.names import Correspondence
from irlens.diff.code.sequences import Pair
from irlens.diff.code.statements import Scope, Statement
from irlens.diff.code.words import differing
from irlens.model.code import CodeHunk, CodeRow, Columns, RowKind


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
        before: Statements of the first side.
        after: Statements of the second.
        names: Which value of the one is which of the other.
    """

    def __init__(
        self, before: Sequence[Statement], after: Sequence[Statement], names: Correspondence
    ) -> None:
        self._before = before
        self._after = after
        self._names = names

    def all(self, pairs: Sequence[Pair], *, ordered: bool) -> list[Row]:
        """Return a row for each statement whose order means something, or means nothing.

        Args:
            pairs: Those that are on both sides, in the order of both.
            ordered: Which of them.
        """
        ours = [i for i, each in enumerate(self._before) if each.ordered == ordered]
        theirs = [j for j, each in enumerate(self._after) if each.ordered == ordered]
        if not ordered:
            # Their order is nobody's: first what is gone, then the second side's.
            kept = {j: i for i, j in pairs}
            rows = [Row("removed", i, None) for i in ours if i not in {a for a, _ in pairs}]
            return rows + [
                self._pair(kept[j], j) if j in kept else Row("added", None, j) for j in theirs
            ]
        return list(self._merged(ours, theirs, pairs))

    def _merged(
        self, ours: Sequence[int], theirs: Sequence[int], pairs: Sequence[Pair]
    ) -> Iterator[Row]:
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
        if ours.looks_like(theirs) and not self._names.differing(ours, theirs):
            return Row("same", i, j)
        return Row("changed", i, j, *differing(ours, theirs, self._names))

    def record(self, row: Row) -> CodeRow:
        """Return a row as it is told."""
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
    """Yield what moved.

    Args:
        rows: All rows.
        maker: What made them.
        heading: Says what a row is in.
        context: How many rows that are the same to show before and after those that are not.
    """
    moved = [index for index, row in enumerate(rows) if row.kind != "same"]
    at = 0
    while at < len(moved):
        first = at
        while at + 1 < len(moved) and moved[at + 1] - moved[at] <= 2 * context + 1:
            at += 1
        start, stop = max(moved[first] - context, 0), min(moved[at] + context + 1, len(rows))
        shown = [maker.record(row) for row in rows[start:stop]]
        yield CodeHunk(heading=heading(shown[moved[first] - start]), rows=shown)
        at += 1


def first_line(hunk: CodeHunk) -> int:
    """Return the line at which a hunk begins, of the second side if that has it."""
    row = hunk.rows[0]
    return row.after_line or row.before_line or 0


class Enclosing:
    """Finds the innermost scope around a line.

    Args:
        scopes: Functions and loops.
    """

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self._starts: list[int] = []
        self._scopes: list[Scope | None] = []
        around: list[Scope] = []
        for scope in [*nested(scopes), None]:
            while around and (scope is None or around[-1].last < scope.first):
                self._add(around.pop().last + 1, around[-1] if around else None)
            if scope is not None:
                around.append(scope)
                self._add(scope.first, scope)

    def _add(self, line: int, scope: Scope | None) -> None:
        self._starts.append(line)
        self._scopes.append(scope)

    def at(self, line: int) -> Scope | None:
        """Return the innermost scope, ``None`` outside of all."""
        index = bisect_right(self._starts, line) - 1
        return self._scopes[index] if index >= 0 else None
