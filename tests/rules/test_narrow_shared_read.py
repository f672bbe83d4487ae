from collections.abc import Callable

from irlens.analyze.facts import Facts
from irlens.isa.amdgcn.memory import access_bytes, reads_lds
from irlens.model.config import ConstexprValue
from irlens.model.report import Finding

CODE = "IRL316"
Look = Callable[..., list[Finding]]
TILE: dict[str, ConstexprValue] = {
    "M": 64, "N": 64, "BLOCK_K": 16, "STAGES": 2, "PRECISION": "ieee", "num_warps": 4,
}  # fmt: skip
HALVES: dict[str, ConstexprValue] = {"a_ptr": "fp16", "b_ptr": "fp16"}


def test_shows_an_operand_that_lies_along_its_other_dimension(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    (finding,) = look(CODE, "dots.py", "mi300x", args=HALVES, **TILE)
    code = facts_of("dots.py", "mi300x", args=HALVES, **TILE).amdgcn
    assert code is not None
    widths = [access_bytes(each.mnemonic) for each in code.instructions if reads_lds(each)]
    reads = widths.count(2)
    assert reads >= 8
    assert finding.message == (
        "the right operand of the product at dots.py:28 is read from LDS 2 B at a time, by"
        f" {reads} instructions where {reads // 4} of 8 B would do: it does not lie there along K"
    )


def test_silent_where_lanes_load_several_rows(look: Look) -> None:
    assert look(CODE, "dots.py", "mi300x", args=HALVES, **TILE | {"num_warps": 1}) == []


def test_silent_where_reads_transpose(look: Look) -> None:
    assert look(CODE, "dots.py", "mi350x", args=HALVES, **TILE) == []


def test_silent_on_words(look: Look) -> None:
    """Four bytes are what a lane multiplies at a time."""
    assert look(CODE, "dots.py", "mi300x", **TILE) == []


def test_silent_on_nvidia(look: Look) -> None:
    assert look(CODE, "dots.py", "a100", args=HALVES, **TILE) == []
