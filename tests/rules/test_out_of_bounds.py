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


@pytest.mark.parametrize("target", ["h100", "mi300x"])
@pytest.mark.parametrize(
    ("kernel", "cause", "hint"),
    [
        (
            "rows",  # 32,895 = 256 * 128 + 127, times 65,536
            "the offset wraps in 32 bits: the multiplication with stride at wraps.py:16 reaches"
            " 2,155,806,720, outside the range of int32",
            "compute in 64 bits: .to(tl.int64) on an operand of this multiplication",
        ),
        (
            "added",  # 2^30 + 2 * 2^29 in program 1; line 29 only sees what line 31 has wrapped
            "the offset wraps in 32 bits: the addition at wraps.py:31 reaches 2,147,483,648,"
            " outside the range of int32",
            "compute in 64 bits: .to(tl.int64) on an operand of this addition",
        ),
        (
            "narrowed",
            "the offset wraps in 32 bits: the conversion at wraps.py:39 reaches 2,147,483,648,"
            " outside the range of int32",
            "keep the offset in 64 bits: remove the conversion to int32",
        ),
    ],
)
def test_names_what_wraps_and_the_remedy_mends_it(
    look: Look, kernel: str, cause: str, hint: str, target: str
) -> None:
    (finding,) = look(CODE, f"wraps.py:{kernel}", target)
    assert finding.message.partition("; ")[2] == cause
    assert finding.hint == hint
    assert look(CODE, f"wraps.py:{kernel}", target, WIDE=True) == []


def test_tells_a_wrap_from_a_missing_mask(look: Look) -> None:
    (wraps,) = look(CODE, "wraps.py:unmasked")
    assert "program (1024, 0, 0); the offset wraps" in wraps.message
    (leaves,) = look(CODE, "wraps.py:unmasked", WIDE=True)  # row 2,048 of 2,048
    assert leaves.message.endswith("program (2048, 0, 0)")
    assert leaves.hint.startswith("mask the access")
