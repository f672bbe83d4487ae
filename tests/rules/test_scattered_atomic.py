from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL313"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize(
    ("kernel", "argument", "most", "depth"),
    # An address takes an update of an integer every 0.74 ns. Each of 8 granules of a row takes four
    # numbers of a lane every 0.32 ns, and all slices of the L2 take 120 such a nanosecond.
    [("bins", "bins_ptr", "776 µs", 1 << 20), ("rows", "out_ptr", "100 µs", 8192)],
)
def test_shows_what_equal_indices_take(
    look: Look, kernel: str, argument: str, most: str, depth: int
) -> None:
    (finding,) = look(CODE, f"scattered_atomics.py:{kernel}")
    assert f"which addresses of {argument} the atomic at scattered_atomics.py:" in finding.message
    assert finding.message.endswith(
        f"for {most} where they are equal, with {depth:,} updates of each"
    )


def test_silent_where_the_addresses_are_known(look: Look) -> None:
    assert look(CODE, "atomics.py:total", args={"n": 4096 * 1024}) == []
    assert look(CODE, "atomics.py:exchange") == []


def test_silent_where_equal_indices_cost_little(look: Look) -> None:
    assert look(CODE, "scattered_atomics.py:bins", args={"n": 4096}) == []


def test_silent_where_no_constants_are_known(look: Look) -> None:
    assert look(CODE, "scattered_atomics.py:bins", "mi300x") == []
