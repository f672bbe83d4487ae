"""Where in a changed statement the change is."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from irlens.diff.code.names import Correspondence
from irlens.diff.code.sequences import common
from irlens.diff.code.statements import STRING, Name, Statement
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
        # Of several registers that one word names each is a name.
        return _once(one.columns for one, _ in found), _once(two.columns for _, two in found)
    one = list(_tokens(ours, lambda name: ("value", names.of(name.value), name.value)))
    other = list(_tokens(theirs, lambda name: ("value", name.value, names.origin(name.value))))
    same = common([t.key for t in one], [t.key for t in other], everywhere=False)
    left = set(range(len(one))) - {i for i, _ in same}
    right = set(range(len(other))) - {j for _, j in same}
    return _joined(ours, one, left), _joined(theirs, other, right)


def _once(columns: Iterable[Columns]) -> tuple[Columns, ...]:
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
