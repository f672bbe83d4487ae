"""Which configuration is the fastest, and which times compare at all."""

from collections.abc import Hashable
from types import SimpleNamespace

import pytest

from irlens.model.config import Config
from irlens.model.estimate import RESOLUTION
from irlens.model.ranking import Candidate, problem_of, rank


def candidate(us: float | None, **facts: object) -> Candidate:
    return Candidate(**{"problem": "p", "estimated_us": us, **facts})  # type: ignore[arg-type]


def test_the_fastest_first_and_those_within_the_noise() -> None:
    close, far = 100 * (1 + RESOLUTION), 100 * (1 + RESOLUTION) + 0.01
    found = rank([candidate(far), candidate(100.0), candidate(close), candidate(None)])
    assert found.order == [1, 2, 0, 3]
    (problem,) = found.problems
    assert (problem.fastest, problem.as_fast) == (1, (2,))
    assert [each.over_fastest for each in found.standings] == [
        pytest.approx(far / 100), 1.0, pytest.approx(close / 100), None,
    ]  # fmt: skip


def test_of_equal_times_one_is_the_fastest() -> None:
    found = rank([candidate(5.0), candidate(5.0)])
    assert found.order == [0, 1]
    assert [each.mark for each in found.standings] == ["fastest", "as fast"]
    assert (found.problems[0].fastest, found.problems[0].as_fast) == (0, (1,))


def test_problems_are_ranked_apart_in_the_order_of_their_first_member() -> None:
    found = rank([
        candidate(9.0, problem="a"), candidate(1.0, problem="b"), candidate(8.0, problem="a"),
        candidate(2.0, problem="b"),
    ])  # fmt: skip
    assert found.order == [2, 0, 1, 3]
    assert [each.fastest for each in found.problems] == [2, 1]


def test_nothing_is_the_fastest_of_one() -> None:
    found = rank([candidate(9.0)])
    assert found.standings[0].time_us == 9.0
    assert found.standings[0].over_fastest is None
    assert found.problems[0].fastest is None
    assert found.is_timed


def test_what_cannot_launch_has_no_time() -> None:
    found = rank([candidate(1.0, launchable=False), candidate(None), candidate(2.0)])
    assert found.order == [2, 1, 0]
    assert found.standings[0].time_us is None
    assert found.problems[0].fastest == 2


def test_an_estimate_does_not_compare_with_a_measured_time() -> None:
    found = rank([candidate(1.0), candidate(3.0, measured_us=5.0), candidate(3.0, measured_us=4.0)])
    assert found.order == [2, 1, 0]
    assert found.problems[0].fastest == 2
    assert found.standings[0].over_fastest is None
    assert [each.measured for each in found.standings] == [False, True, True]


def test_what_reads_fewer_bytes_leaves_out_a_part_of_the_problem() -> None:
    found = rank([candidate(1.0, accessed=50), candidate(2.0, accessed=100),
                  candidate(3.0, accessed=100)])  # fmt: skip
    assert found.order == [1, 2, 0]
    assert found.problems[0].fastest == 1
    assert [each.partial for each in found.standings] == [True, False, False]
    assert found.standings[0].over_fastest is None


def test_an_atomic_that_reads_the_output_solves_the_same_problem() -> None:
    """A split product adds to its output, so that it reads what the other one only writes."""
    split = candidate(1.0, accessed=110, written=10)
    whole = candidate(2.0, accessed=100, written=10)
    half = candidate(0.5, accessed=55, written=5)
    found = rank([half, whole, split])
    assert [each.partial for each in found.standings] == [True, False, False]
    assert found.standings[1].over_fastest == 2.0
    # As much is missing as the output is long, but the output is shorter as well.
    assert rank([candidate(1.0, accessed=100, written=50), candidate(0.5, accessed=50, written=25)]
                ).standings[1].partial  # fmt: skip


def test_without_times_the_order_stays() -> None:
    found = rank([candidate(None, missing="--grid gives it"), candidate(None)])
    assert found.order == [0, 1]
    assert not found.is_timed
    assert found.missing == "--grid gives it"


def test_another_type_of_data_is_another_problem() -> None:
    """As of two programs; a workspace may have another shape in each configuration."""

    def of(**args: int | float | str) -> Hashable:
        config = Config(
            num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args=args
        )
        return problem_of(SimpleNamespace(kernel="norm", target=None, config=config))

    assert of(x="fp16[64,64]", n=64) != of(x="bf16[64,64]", n=64)
    assert of(x="fp16[64,64]", n=64) == of(x="fp16[32,64]", n=64)
    assert of(x="fp16[64,64]", n=64) != of(x="fp16[64,64]", n=32)
