from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE = "IRL310"
Look = Callable[..., list[Finding]]


def in_loop(facts: Facts) -> int:
    """Number of conversions in the loop that exchange data through shared memory, by the PTX."""
    assert facts.ttgir is not None
    loops = [each for each in facts.ttgir.operations if each.name == "scf.for"]
    return sum(
        loop.index < each.index < loop.end
        for loop in loops
        for each in facts.ttgir.named("ttg.convert_layout")
        if len(each.result_type.shape) == 1
    )


@pytest.mark.parametrize("target", ["a100", "h100", "b200"])
def test_shows_a_row_of_scales_until_there_are_more_threads(
    look: Look, facts_of: Callable[..., Facts], target: str
) -> None:
    (finding,) = look(CODE, "scaled_product.py", target)
    assert finding.message == (
        "scaled_product.py:36 converts the 128 elements that scaled_product.py:33 loads to another"
        " layout in every iteration, through shared memory: the CTA has 128 threads for them, and"
        " with more it would load them in that layout"
    )
    assert finding.hint == "try num_warps=8, or a tile that is shorter in this dimension"
    assert in_loop(facts_of("scaled_product.py", target)) == 1
    # The remedies: the conversion goes, and the finding with it.
    for remedy in ({"num_warps": 8}, {"BLOCK": 64}):
        assert look(CODE, "scaled_product.py", target, **remedy) == []
        assert in_loop(facts_of("scaled_product.py", target, **remedy)) == 0


def test_shows_what_is_computed_from_a_row_too(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "scaled_product.py", EXPONENTS=True)
    assert "scaled_product.py:33 loads" in finding.message
    assert look(CODE, "scaled_product.py", EXPONENTS=True, num_warps=8) == []
    assert in_loop(facts_of("scaled_product.py", EXPONENTS=True, num_warps=8)) == 0


def test_finds_a_vector_that_has_the_rank_of_its_tile(look: Look) -> None:
    """It is converted after ``[None, :]``, with as many threads as elements."""
    (finding,) = look(CODE, "vector_beside.py", N=128, num_warps=4)
    assert finding.hint.startswith("try num_warps=8")
    assert look(CODE, "vector_beside.py", N=128, num_warps=8) == []


def test_speaks_as_amd_does(look: Look) -> None:
    (finding,) = look(CODE, "scaled_product.py", "mi300x", num_warps=2)
    assert "through LDS: the workgroup has 128 threads" in finding.message
    assert look(CODE, "scaled_product.py", "mi300x", num_warps=4) == []


@pytest.mark.parametrize("kernel", ["matmul_persistent", "flash_attention"])
def test_silent_on_the_conversion_before_a_store(look: Look, kernel: str) -> None:
    """It is the price of a coalesced store, also where that is in a loop."""
    assert look(CODE, kernel) == []
