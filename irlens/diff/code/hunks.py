"""Hunks from pairs of statements: what changed, with context, and the columns that differ."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from irlens.diff.code.correspondence import Correspondence
from irlens.diff.code.patience import Pair, common
from irlens.diff.code.statements import Name, Statement
from irlens.isa.syntax import STRING
from irlens.model.code import CodeHunk, CodeRow, Columns, RowKind

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

    def all(self, pairs: Sequence[Pair], *, ordered: bool) -> list[Row]:
        """Return a row for each ordered, or each unordered, statement.

        Args:
            pairs: Those of them that both sides have, in the order of both.
            ordered: Which of the two.
        """
        ours = [i for i, each in enumerate(self._before) if each.ordered == ordered]
        theirs = [j for j, each in enumerate(self._after) if each.ordered == ordered]
        if not ordered:
            # Without an order: first those that were removed, then those of the second side.
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
    same = common([t.key for t in one], [t.key for t in other], everywhere=False)
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
