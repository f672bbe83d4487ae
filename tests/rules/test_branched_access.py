from collections.abc import Callable

from irlens.model.report import Finding
from irlens.rules import answers
from tests.rules.conftest import FactsOf

CODE = "IRL315"
Look = Callable[..., list[Finding]]
LARGE = {"M": 2097152}


def test_shows_masked_loads_of_large_tensors(look: Look) -> None:
    """Of 4 GB; the other operand has 2 MB, and the result is stored behind the loop."""
    for target in ("gfx942", "gfx950", "gfx1201"):
        (finding,) = look(CODE, "amd.py:ragged", target, args=LARGE)
        assert finding.message.endswith(
            "takes addresses of 64 bits, and a branch for each instruction: the storage of a may"
            " have 2 GB or more"
        )
        assert finding.blame is not None
        assert finding.blame.arguments == ["a"]


def test_silent_where_all_tensors_are_small(look: Look) -> None:
    assert look(CODE, "amd.py:ragged", "gfx942") == []
    assert look(CODE, "amd.py:ragged", "h100", args=LARGE) == []


def test_silent_without_a_mask(look: Look) -> None:
    assert look(CODE, "amd.py:tiles", "gfx942", args=LARGE) == []


def test_answers_for_accesses_without_a_mask(facts_of: FactsOf) -> None:
    found = answers(CODE, lambda: facts_of("amd.py:tiles", "gfx942", args=LARGE))
    assert [each.message.partition(" at ")[0] for each in found] == ["the load", "the store"]
    assert all("branch" not in each.message for each in found)


def test_shows_masked_loads_by_pointers_that_the_kernel_loads(look: Look) -> None:
    (finding,) = look(CODE, "amd.py:listed", "gfx942")
    assert "the kernel loads its pointer from memory" in finding.message
    assert finding.hint.startswith("pass the tensor as an argument, or ")
    assert finding.blame is not None
    assert finding.blame.arguments == []


def test_blames_the_tensor_of_each_access_alone(look: Look) -> None:
    """Not the one that holds the indices of the rows, which the address is computed from, too."""
    ids, table = {"N": 16777216}, {"ROWS": 16777216}
    for args, expected in ((ids, ["ids"]), (table, ["table"]), (ids | table, ["ids", "table"])):
        found = look(CODE, "amd.py:looked_up", "gfx942", args=args)
        assert [each.blame and each.blame.arguments for each in found] == [[e] for e in expected]


def test_an_offset_from_memory_is_no_pointer_from_memory(look: Look) -> None:
    (found,) = look(CODE, "amd.py:looked_up", "gfx942", args={"ROWS": 16777216}, SHIFTED=True)
    assert found.blame is not None
    assert found.blame.arguments == ["table"]


def test_shows_an_access_that_has_a_mask_in_some_copies_alone(look: Look) -> None:
    """The loop over two tiles is unrolled: both loads are at one place, and one has a mask."""
    (finding,) = look(CODE, "amd.py:halves", "gfx942", args=LARGE)
    assert "a branch for each instruction" in finding.message


def test_silent_where_offsets_are_known_to_be_small(look: Look) -> None:
    """Whatever the pointer is: those of each row are below 1,024."""
    assert look(CODE, "loaded_pointers.py:listed_rows", "gfx942") == []
