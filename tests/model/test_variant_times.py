"""Which variants are as fast as others, and what the code of the others is worth."""

import pytest

from irlens.model.ranking import Candidate, rank
from irlens.model.variant_times import Merged, compared
from irlens.model.variants import Variant

VARIANTS = [Variant(specialization=[], options={})] * 4


def told(found: list[Variant]) -> list[tuple[int | None, float | None]]:
    return [(each.as_fast_as, each.time_ratio and round(each.time_ratio, 3)) for each in found]


def test_variants_that_one_serves_as_fast_are_alike_and_others_save_time() -> None:
    merged = [Merged([[0, 1, 2], [3]], {0: 1.0, 1: 1.02, 2: 1.2})]
    assert told(compared(VARIANTS, merged, None)) == [(1, 1.0), (1, 1.02), (3, 1.2), (None, None)]


def test_the_change_that_costs_least_decides() -> None:
    merged = [Merged([[0, 1]], {0: 1.5, 1: 1.5}), Merged([[1, 2]], {1: 1.0, 2: 0.8})]
    assert told(compared(VARIANTS, merged, None))[:3] == [(1, 1.5), (2, 1.0), (3, 0.8)]


def test_what_was_not_compiled_is_unknown() -> None:
    assert told(compared(VARIANTS, [Merged([[0, 1]], {0: 1.0})], None)) == [(None, None)] * 4


def test_times_of_one_problem_compare() -> None:
    times = [("a", 10.0), ("a", 10.2), ("a", 13.0), ("b", 10.0)]
    ranking = rank([Candidate(problem=name, estimated_us=time) for name, time in times])
    found = told(compared(VARIANTS, [], ranking))
    assert found[:2] == [(1, 1.02), (1, pytest.approx(0.98, abs=0.001))]
    assert found[2:] == [(3, 0.769), (None, None)]


def test_no_chain_joins_variants_that_differ_by_more_than_noise() -> None:
    ranking = rank([Candidate(problem="a", estimated_us=time) for time in (10.0, 10.2, 10.4)])
    assert [each for each, _ in told(compared(VARIANTS[:3], [], ranking))] == [1, 1, 3]
