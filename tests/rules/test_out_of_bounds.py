from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL304"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_shows_a_load_without_a_mask(look: Look, target: str) -> None:
    # 4 programs of 256 lanes for 1,000 elements.
    (finding,) = look(CODE, "memory.py:unmasked", target)
    assert finding.severity == "error"
    assert finding.message == (
        "the load at memory.py:57 reaches outside x_ptr, which has 4,000 B: 24 lanes, the first"
        " at byte 4,000 in program (3, 0, 0)"
    )


def test_shows_lanes_before_the_tensor(look: Look) -> None:
    (finding,) = look(CODE, "memory.py:before")
    assert finding.message == (
        "the load at memory.py:65 reaches outside x_ptr, which has 4,096 B: 3 lanes, the first"
        " 12 B before its beginning in program (0, 0, 0)"
    )


def test_silent_where_the_programs_fill_the_tensor(look: Look) -> None:
    assert look(CODE, "memory.py:unmasked", args={"n": 1024}) == []


def test_silent_where_the_launch_is_unknown(look: Look) -> None:
    assert look(CODE, "softmax") == []
