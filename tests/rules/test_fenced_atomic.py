from collections.abc import Callable

import pytest

from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE = "IRL308"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize("target", ["h100", "a100", "mi300x"])
@pytest.mark.parametrize("semantics", ["acq_rel", "release"])
def test_shows_sums_that_wait_for_writes(look: Look, target: str, semantics: str) -> None:
    (finding,) = look(CODE, "atomics.py:histogram", target, SEM=semantics)
    assert finding.message == (
        f'the atomic at atomics.py:36 has sem="{semantics}": each of its instructions waits for the'
        f" {'wave' if target == 'mi300x' else 'warp'}'s earlier writes, and nothing uses what it"
        " returns"
    )
    assert finding.hint == (
        'sem="relaxed" adds as exactly, unless another program waits for these values'
    )


@pytest.mark.parametrize("semantics", ["relaxed", "acquire"])
def test_silent_where_nothing_is_fenced_before(look: Look, semantics: str) -> None:
    assert look(CODE, "atomics.py:histogram", SEM=semantics) == []


def test_silent_where_the_old_values_are_used(look: Look) -> None:
    assert look(CODE, "atomics.py:histogram", KEEP=True) == []


@pytest.mark.parametrize("kernel", ["total", "exchange"])
def test_silent_on_what_may_be_a_counter_or_a_lock(look: Look, kernel: str) -> None:
    assert look(CODE, f"atomics.py:{kernel}") == []
