from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL403"
Look = Callable[..., list[Finding]]


def test_shows_a_short_row_over_several_warps(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "short_rows.py")
    assert finding.message == (
        "the reduction of 128 elements at short_rows.py:22 goes through shared memory: they are"
        " spread over 4 warps, and one could hold them"
    )
    kernel = facts_of("short_rows.py").ptx
    assert kernel is not None
    assert any(instruction.name == "bar.sync" for instruction in kernel.instructions)


def test_shows_rows_that_half_of_the_warps_would_hold(look: Look) -> None:
    """An H200 takes 322 µs for a softmax of 256 columns with eight warps, with two 164."""
    for columns, warps, needed in ((256, 8, 2), (512, 8, 4), (1024, 16, 8)):
        (finding,) = look(CODE, "short_rows.py", N=columns, num_warps=warps)
        assert finding.message == (
            f"the reduction of {columns} elements at short_rows.py:22 goes through shared memory:"
            f" they are spread over {warps} warps, and {needed} could hold them"
        )
        assert finding.blame is not None
        assert finding.blame.suffices == needed
        assert look(CODE, "short_rows.py", N=columns, num_warps=needed) == []
        assert look(CODE, "short_rows.py", "mi300x", N=2 * columns, num_warps=warps) == []


def test_silent_with_one_warp(look: Look, facts_of: Callable[..., Facts]) -> None:
    assert look(CODE, "short_rows.py", num_warps=1) == []
    kernel = facts_of("short_rows.py", num_warps=1).ptx
    assert kernel is not None
    assert not any(instruction.name == "bar.sync" for instruction in kernel.instructions)


def test_silent_where_every_warp_has_rows_of_its_own(look: Look) -> None:
    assert look(CODE, "short_rows.py", M=8) == []


def test_silent_on_long_rows(look: Look) -> None:
    assert look(CODE, "softmax") == []


@pytest.mark.parametrize("flip", [False, True])
def test_silent_on_the_exchanges_of_a_sort(
    look: Look, facts_of: Callable[..., Facts], flip: bool
) -> None:
    """They are reductions of two elements in the ttgir, which nobody wrote."""
    ttgir = facts_of("sorted_rows.py", FLIP=flip).ttgir
    assert ttgir is not None
    assert any(ttgir.named("tt.reduce"))
    assert look(CODE, "sorted_rows.py", FLIP=flip) == []


def test_speaks_as_amd_does(look: Look) -> None:
    (finding,) = look(CODE, "short_rows.py", "mi300x", N=256)
    assert finding.message == (
        "the reduction of 256 elements at short_rows.py:22 goes through LDS: they are spread over"
        " 4 waves, and one could hold them"
    )


def test_shows_scans(look: Look) -> None:
    (finding,) = look(CODE, "running_sums.py", "gfx942")
    assert finding.message.startswith("the scan of 256 elements at running_sums.py:20 goes through")
    assert look(CODE, "running_sums.py", "gfx942", N=2048) == []
