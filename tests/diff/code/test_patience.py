"""What sequences have in common: in order, and as much as there is where that is little work."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.diff.code.patience import Pair, common

_WORDS = st.lists(st.sampled_from("abcd"), max_size=14)


def longest(one: list[str], other: list[str]) -> int:
    """Return the length of the longest common subsequence, from the textbook's table."""
    row = [0] * (len(other) + 1)
    for mine in one:
        above = row.copy()
        for j, theirs in enumerate(other):
            row[j + 1] = above[j] + 1 if mine == theirs else max(above[j + 1], row[j])
    return row[-1]


def check(one: list[str], other: list[str], pairs: list[Pair]) -> None:
    assert all(one[i] == other[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(_WORDS, _WORDS)
def test_pairs_are_the_same_and_in_order(one: list[str], other: list[str]) -> None:
    check(one, other, common(one, other))


@given(_WORDS, _WORDS)
def test_without_anchors_it_is_as_much_as_there_is(one: list[str], other: list[str]) -> None:
    # Nothing that both have is there once, and neither end can be trimmed.
    one, other = ["<", *one * 2, ">"], ["[", *other * 2, "]"]
    pairs = common(one, other)
    check(one, other, pairs)
    assert len(pairs) == longest(one, other)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=40, max_size=200), st.data())
def test_one_that_is_gone_is_one_that_is_gone(one: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(one) - 1))
    assert len(common(one, one[:gone] + one[gone + 1 :])) == len(one) - 1


def test_anchors_nest_as_deep_as_they_like() -> None:
    """Each pair of anchors leaves one key that is there once between them."""
    inner: list[int] = []
    other: list[int] = []
    for level in range(200):
        inner = [level, level + 1000, *inner, level, level]
        other = [level, *other, level + 2000, level]
    pairs = common(inner, other)
    assert all(inner[i] == other[j] for i, j in pairs)


def test_what_has_little_in_common_is_no_long_work() -> None:
    one = [n * 7919 % 97 for n in range(30_000)]
    other = [n * 104_729 % 89 for n in range(30_000)]
    assert all(one[i] == other[j] for i, j in common(one, other))
