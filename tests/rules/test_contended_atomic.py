from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL312"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_shows_updates_that_meet_at_one_address(look: Look, target: str) -> None:
    """4,096 programs add a number each to a single sum."""
    (finding,) = look(CODE, "atomics.py:total", target, args={"n": 4096 * 1024})
    assert finding.message == (
        "the atomic at atomics.py:45 updates each of its addresses 4,096 times, one after the other"
    )
    assert finding.hint.startswith("add up in the program first")


def test_silent_where_few_updates_meet(look: Look) -> None:
    assert look(CODE, "atomics.py:total") == []


def test_silent_where_each_update_has_its_own_address(look: Look) -> None:
    assert look(CODE, "atomics.py:exchange", args={"n": 4096 * 1024}) == []
