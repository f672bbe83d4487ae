from collections.abc import Callable

import pytest

from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE = "IRL402"
Look = Callable[..., list[Finding]]


def test_shows_a_tile_of_few_rows(look: Look) -> None:
    (finding,) = look(CODE, "dots.py", M=4)
    assert finding.message == (
        "the dot at dots.py:28 is 4 x 64 and the tensor core's instruction 16 x 8: 75 % of it is"
        " padding"
    )
    assert finding.hint == "make the tile at least 16 x 64, or swap the operands"


def test_silent_where_the_instruction_is_full(look: Look) -> None:
    assert look(CODE, "dots.py", M=16, N=16) == []
    assert look(CODE, "dots.py", "a100") == []


def test_silent_where_no_tensor_core_is_used(look: Look) -> None:
    assert look(CODE, "dots.py", M=4, PRECISION="ieee") == []
