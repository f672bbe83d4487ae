"""Values that an argument takes: numbers, ranges of them, and anything else as written."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

#: What one argument takes, in the order in which it was written.
Values: TypeAlias = Sequence[range | str]


def number_of(values: Values) -> int:
    """Return how many values there are."""
    return sum(_length(each) if isinstance(each, range) else 1 for each in values)


def each_value(values: Values) -> Iterator[str]:
    """Yield every value as text."""
    for each in values:
        if isinstance(each, range):
            yield from map(str, each)
        else:
            yield each


def _length(numbers: range) -> int:
    """Return the length of a range, which may be longer than ``len`` can say."""
    return max(0, (numbers.stop - numbers.start + numbers.step - 1) // numbers.step)
