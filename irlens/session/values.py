"""Values of an option or a setting, as they are written: lists and ranges."""

import re
from collections.abc import Iterable, Iterator, Sequence

from irlens.model.config import Values
from irlens.model.errors import IrlensError
from irlens.model.text import split_list

#: ``1..5``, in steps ``0..64..16``, by a factor ``16..256..x2`` (a shell would expand ``*``),
#: powers ``2^12..2^27``.
_RANGE = re.compile(r"(?P<first>-?\d+)\.\.(?P<last>-?\d+)(?:\.\.(?P<factor>x)?(?P<step>\d+))?")
_POWERS = re.compile(r"(?P<base>[1-9]\d?)\^(?P<first>\d{1,2})(?:\.\.(?P=base)\^(?P<last>\d{1,2}))?")
_MAX_RANGE = 1000
#: Digits of a range's numbers; Python refuses to read more than 4,300.
_MOST_DIGITS = 100


def split_values(text: str) -> tuple[str, ...]:
    """Return comma-separated values, ranges as their numbers; a comma in brackets separates none.

    Raises:
        IrlensError: There is no value, or a range descends or is too long.
    """
    values = tuple(value for item in split_list(text) if item for value in _spread(item))
    if not values:
        raise IrlensError("a value is missing")
    return values


def read_values(texts: Sequence[str]) -> Values:
    """Return values with long ranges as such: those that ``split_values`` would not list.

    Raises:
        IrlensError: See ``split_values``.
    """
    values: list[range | str] = []
    for text in texts:
        match = _RANGE.fullmatch(text)
        if match is None or match["factor"] is not None:
            values += split_values(text)
            continue
        first, last, step = _numbers(match)
        if last < first or step < 1:
            raise IrlensError(f"'{text}' is not an ascending range")
        values.append(range(first, last + 1, step))
    if not values:
        raise IrlensError("a value is missing")
    return values


def read_ranges(texts: Iterable[str]) -> dict[str, Values]:
    """Return the values of arguments as written: ``n=1..4096``, ``n=1,16``.

    Raises:
        IrlensError: A text has no name, or see ``read_values``.
    """
    found = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not name.isidentifier() or not equals:
            raise IrlensError(f"'{text}' is not NAME=VALUES, such as n=1..4096")
        found[name] = read_values(split_list(values))
    return found


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    """Return the first and the last number of a range, and its step."""
    written = match["first"], match["last"], match["step"] or "1"
    if max(map(len, written)) > _MOST_DIGITS:
        raise IrlensError(f"a range has a number of more than {_MOST_DIGITS} digits")
    first, last, step = map(int, written)
    return first, last, step


def _spread(item: str) -> Iterator[str]:
    """Yield the numbers of a range, both ends included; anything else unchanged."""
    powers = _POWERS.fullmatch(item)
    if powers is not None:
        first, last = int(powers["first"]), int(powers["last"] or powers["first"])
        if last < first:
            raise IrlensError(f"'{item}' is not an ascending range")
        yield from (str(int(powers["base"]) ** power) for power in range(first, last + 1))
        return
    match = _RANGE.fullmatch(item)
    if match is None:
        yield item
        return
    value, last, step = _numbers(match)
    by_factor = match["factor"] is not None
    if last < value or step < 1 + by_factor or (by_factor and value < 1):
        raise IrlensError(f"'{item}' is not an ascending range")
    for _ in range(_MAX_RANGE):
        yield str(value)
        value = value * step if by_factor else value + step
        if value > last:
            return
    raise IrlensError(f"'{item}' has more than {_MAX_RANGE} numbers")
