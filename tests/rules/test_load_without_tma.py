"""Tiles that TMA does not load, which is answered where it is asked for."""

from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.rules import load_without_tma

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

KERNEL = "warp_specialized.py:ws_matmul"


def _answers(facts: Facts) -> list[str]:
    assert list(load_without_tma.find(facts)) == []
    return [match.message for match in load_without_tma.on_request(facts)]


def test_shows_tiles_by_pointers(facts_of: Callable[..., Facts]) -> None:
    found = _answers(facts_of(KERNEL, "sm_90", TMA=False, WS=False))
    assert len(found) == 2
    assert all(each.endswith("it goes through pointers, not a tensor descriptor") for each in found)


def test_shows_descriptors_where_the_gpu_has_no_tma(facts_of: Callable[..., Facts]) -> None:
    found = _answers(facts_of(KERNEL, "sm_80", WS=False))
    assert len(found) == 2
    assert all(each.endswith("sm_80 has no TMA") for each in found)


def test_silent_on_descriptors(facts_of: Callable[..., Facts]) -> None:
    assert _answers(facts_of(KERNEL, "sm_90", WS=False)) == []
    assert _answers(facts_of(KERNEL, "sm_100")) == []
    assert _answers(facts_of(KERNEL, "sm_90")) == []  # the copies' lines are others in its ttgir
