from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE, KERNEL = "IRL314", "transposed_sum.py"
Look = Callable[..., list[Finding]]


def conversions(facts: Facts) -> int:
    """Number of conversions of tiles in the kernel."""
    assert facts.ttgir is not None
    return sum(1 for _ in facts.ttgir.named("ttg.convert_layout"))


@pytest.mark.parametrize("target", ["a100", "h100", "b200"])
def test_shows_a_tile_that_a_pipelined_loop_would_not_convert(
    look: Look, facts_of: Callable[..., Facts], target: str
) -> None:
    (finding,) = look(CODE, KERNEL, target)
    assert finding.message == (
        "the 64x64 tile that transposed_sum.py:28 loads is converted to another layout in every"
        " iteration, through shared memory: the loop is not pipelined, and copies of a pipelined"
        " one are read in any layout"
    )
    assert conversions(facts_of(KERNEL, target)) == 2
    # The remedy: the conversions go, and the finding with them.
    assert look(CODE, KERNEL, target, STAGES=3) == []
    assert conversions(facts_of(KERNEL, target, STAGES=3)) == 0


def test_silent_where_the_tiles_lie_in_one_order(look: Look) -> None:
    assert look(CODE, KERNEL, TRANSPOSED=False) == []


@pytest.mark.parametrize("target", ["mi300x", "t4"])
def test_silent_where_pipelining_would_not_help(
    look: Look, facts_of: Callable[..., Facts], target: str
) -> None:
    """There it goes through registers, or does not exist."""
    assert look(CODE, KERNEL, target) == []
    assert conversions(facts_of(KERNEL, target, STAGES=3)) > 0


@pytest.mark.parametrize("kernel", ["matmul_persistent", "flash_attention"])
def test_silent_on_the_conversion_before_a_store(look: Look, kernel: str) -> None:
    assert look(CODE, kernel) == []


def test_silent_on_a_right_operand_of_the_iteration_before(look: Look) -> None:
    """It passes the wait for this iteration's product, which hands it on."""
    assert look(CODE, "carried_operand.py:carried_operand", "h100", B=64) == []


def test_shows_a_right_operand_that_another_product_computes(look: Look) -> None:
    (finding,) = look(CODE, "right_operand.py", "h100")
    assert finding.message == (
        "the 64x64 tile that the product at right_operand.py:42 computes is the right operand of"
        " the one at right_operand.py:45: every iteration stores it to shared memory, from where"
        " alone wgmma takes right operands"
    )
    assert look(CODE, "right_operand.py", "h100", TRANSPOSED=True) == []
    assert look(CODE, "right_operand.py", "a100") == []


@pytest.mark.parametrize("stages", [1, 3])
def test_silent_on_loaded_right_operands(look: Look, stages: int) -> None:
    """The first product of attention is the left operand of the second."""
    assert look(CODE, "flash_attention", "h100", num_stages=stages) == []
