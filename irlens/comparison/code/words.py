"""Where in a changed statement the change is."""

import re
from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

from patiencediff import PatienceSequenceMatcher

from irlens.comparison.code.names import Correspondence
from irlens.comparison.code.statements import STRING, Name, Statement
from irlens.model.code import Columns

_WORD = re.compile(rf"{STRING}|[@!#%.]?[\w$]+(?:\.[\w$]+)*|\S")


class _Token(NamedTuple):
    key: Hashable
    columns: Columns


def differing(
    ours: Statement, theirs: Statement, names: Correspondence
) -> tuple[tuple[Columns, ...], tuple[Columns, ...]]:
    """Return the columns of two statements that differ in meaning; none if nothing does."""
    if ours.looks_like(theirs):
        found = names.differing(ours, theirs)
        return tuple(one.columns for one, _ in found), tuple(two.columns for _, two in found)
    one = list(_tokens(ours, lambda name: ("value", names.of(name.value), name.value)))
    other = list(_tokens(theirs, lambda name: ("value", name.value, names.origin(name.value))))
    matcher = PatienceSequenceMatcher(None, [t.key for t in one], [t.key for t in other])
    left, right = set(range(len(one))), set(range(len(other)))
    for i, j, length in matcher.get_matching_blocks():
        left -= set(range(i, i + length))
        right -= set(range(j, j + length))
    return _joined(ours, one, left), _joined(theirs, other, right)


def _tokens(statement: Statement, key: Callable[[Name], Hashable]) -> Iterator[_Token]:
    at = 0
    known = [(name.columns, key(name)) for name in statement.names]
    known += [(columns, None) for columns in statement.noise]
    for columns, named in [
        *sorted(known, key=lambda each: each[0]),
        ((len(statement.text),) * 2, None),
    ]:
        for found in _WORD.finditer(statement.text, at, max(columns[0], at)):
            yield _Token(found.group(), found.span())
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
