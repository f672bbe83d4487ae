"""Explanations whose first cause is easily mistaken for another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from irlens.analyze import counterfactuals
from irlens.analyze.counterfactuals import Change, Symptom, changes_for
from irlens.analyze.counterfactuals.change import more_warps
from irlens.artifacts import pass_dumps
from irlens.isa.mlir import parse
from irlens.model.config import Config
from irlens.model.report import Blame, Finding
from irlens.model.why import Explanation
from irlens.render import render
from irlens.session import Configurations
from irlens.session.session import Session
from irlens.session.why import _divides_grid, _otherwise, why

_FINDING = Finding(
    code="IRL310", severity="note", message="", hint="", stage=None, line=None, source=None
)
SERVING = "tests/data/findings/serving.py"


def _explained(
    kernel: str, target: str, code: str, settings: dict[str, str] | None = None
) -> list[Explanation]:
    configurations = Configurations(
        targets=(target,), settings=tuple((n, (v,)) for n, v in (settings or {}).items())
    )
    name = (
        kernel if "/" in kernel or kernel in ("column_sum", "transpose") else f"{SERVING}:{kernel}"
    )
    return why(name, configurations, Session(), (code,)).explanations


def test_a_loop_of_amd_waits_for_loads_that_the_compiler_leaves_in_place() -> None:
    (found,) = _explained("grouped", "gfx942", "IRL201")
    assert found.finding.hint == (
        "the compiler leaves these loads in place: remove what keeps them there"
    )
    assert found.proof == "proved"
    assert "is not pipelined: a lane reads less than 4" in found.cause
    assert found.decided_by == "TritonGPUCoalesce"


def test_copies_ahead_are_waited_for_with_a_load_behind_them() -> None:
    (found,) = _explained("scaled", "gfx950", "IRL201")
    assert "loads return in order" in found.finding.message
    assert (found.proof, found.decided_by) == ("proved", "LLVM")
    assert found.experiments[0].change.startswith("other values in place of what is loaded at")


def test_llvm_waits_for_data_that_the_ttgir_loads_earlier() -> None:
    (found,) = _explained("running", "gfx950", "IRL201")
    assert "the ttgir loads 2 iterations ahead, and LLVM waits" in found.finding.message
    assert (found.proof, found.decided_by) == ("relieved", "LLVM")


@pytest.mark.parametrize(
    ("target", "decided_by"),
    [("h100", "TritonGPUAssignLatencies"), ("gfx942", "TritonAMDGPUScheduleLoops")],
)
def test_the_pass_that_leaves_a_loop_without_stages_alone(target: str, decided_by: str) -> None:
    (found,) = _explained("column_sum", target, "IRL204", {"num_warps": "1"})
    assert (found.proof, found.decided_by) == ("proved", decided_by)


def test_stages_that_no_load_takes_prove_nothing() -> None:
    (found,) = _explained("loss", "h100", "IRL204")
    (only,) = found.experiments
    assert only.gone
    assert "is not pipelined, in a loop of 3 stages" in only.instead
    assert found.proof == "relieved"


def test_other_remedies_are_tried_where_the_proof_takes_longer() -> None:
    """The first of them was the only one: products that a condition skips, multiplied."""
    configurations = Configurations(targets=("h100",), args=(("first", ("512",)), ("K", ("1024",))))
    kernel = "tests/data/findings/held_back.py:skipped"
    (found,) = why(kernel, configurations, Session(), ("IRL204",)).explanations
    proof, before, itself = found.experiments
    assert found.proof == "proved"
    assert proof.change.endswith("always taken")
    assert (proof.before_us or 0) * 1.03 < (proof.after_us or 0)
    assert before.change.startswith("the loads before the condition, and num_stages=3 on the loop")
    assert (before.gone, before.is_cause, itself.gone) == (True, False, True)


def test_registers_that_an_experiment_spills_are_said_of_any_finding() -> None:
    """They were said of limited occupancy alone."""
    configurations = Configurations(
        targets=("h100",), settings=(("SIZE", ("16384",)), ("STAGES", ("1",)))
    )
    kernel = "tests/data/findings/tile_sum.py"
    found = why(kernel, configurations, Session(), ("IRL304",))
    (explained,) = found.explanations
    first = explained.experiments[0]
    assert (first.gone, first.instead) == (True, first.spilled)
    assert first.spilled.endswith("B of registers per thread are spilled to memory")
    shown = render("text", "explanations", found)
    assert f"another one has come: {first.spilled}" in " ".join(shown.split())
    stays = replace(first, gone=False, instead="")
    again = replace(found, explanations=[replace(explained, experiments=[stays])])
    shown = render("text", "explanations", again)
    assert f"the finding stays; {first.spilled};" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("address", "stored"),
    [
        ("(tl.program_id(0) * 4 + o) * 4", "o"),
        ("tl.program_id(0) * 4 + c[:, None] * 4 + o[None, :] * 4", "c[:, None] + o[None, :]"),
    ],
)
def test_the_step_of_neighbours_is_the_multiplication_that_takes_them_apart(
    address: str, stored: str, tmp_path: Path
) -> None:
    """The first row of a program, and another dimension's step, were tried before it."""
    path = tmp_path / "apart.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def apart(x_ptr, y_ptr):\n"
        "    o, c = tl.arange(0, 256), tl.arange(0, 2) * 65536\n"
        f"    tl.store(y_ptr + {stored}, tl.load(x_ptr + {address}))\n"
    )
    configurations = Configurations(
        targets=("h100",), grid=("1024",),
        args=(("x_ptr", ("fp32[262144, 4]",)), ("y_ptr", ("fp32[262144]",))),
    )  # fmt: skip
    (found,) = why(str(path), configurations, Session(), ("IRL302",)).explanations
    (proof,) = found.experiments
    assert proof.change == "a step of 1 element in place of 4 at line 8"


def test_all_atomics_of_a_line_are_relaxed() -> None:
    (found,) = _explained("gate", "gfx942", "IRL308")
    assert "wave's earlier writes" in found.finding.message
    assert found.proof == "proved"
    assert len(found.operations) == 2
    assert all("atomic_rmw" in each for each in found.operations)


def test_the_operation_of_a_reduction_through_lds_is_the_reduction() -> None:
    (found,) = _explained("column_sum", "gfx942", "IRL403")
    assert all('"tt.reduce"' in each for each in found.operations)
    assert found.operations


def test_a_tile_that_a_constexpr_divided_makes_is_longer_with_it() -> None:
    (found,) = _explained("scales", "h100", "IRL302")
    first = found.experiments[0]
    assert first.change == "BK=1024"
    assert (found.proof, first.gone) == ("proved", True)


def test_an_output_is_contiguous_along_the_dimension_that_is_said() -> None:
    (found,) = _explained("convolution", "h100", "IRL302", {"num_stages": "1"})
    assert "dimension 0 is contiguous" in found.finding.message
    assert found.finding.hint.startswith("pass W as tl.constexpr")
    assert found.experiments[0].change == "W=56 known to the compiler"
    assert (found.proof, found.decided_by) == ("proved", "TritonGPUCoalesce")


def test_a_load_too_narrow_to_pipeline_is_proved_by_a_wide_one() -> None:
    found = _explained("convolution", "h100", "IRL203", {"BM": "32", "BK": "16"})
    proved = [each for each in found if each.proof == "proved"]
    assert proved == found
    first = found[0].experiments[0]
    assert first.change.startswith("the addresses known to be contiguous and aligned by 8")


@pytest.mark.parametrize(("target", "most"), [("gfx942", 16), ("gfx1100", 32), ("sm_90", 32)])
def test_no_more_warps_are_tried_than_a_cta_has(target: str, most: int) -> None:
    module = parse("module {\n}\n", stage="ttir")
    config = Config(
        num_warps=8, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={}
    )
    symptom = Symptom(_FINDING, module, config, target=target)
    assert [each.settings["num_warps"] for each in more_warps(symptom)][-1] == str(most)


def test_accumulators_of_serialized_products_take_fewer_registers_in_a_smaller_tile() -> None:
    blame = Blame(reason="the accumulators are 512 registers per thread", kind="registers")
    config = Config(
        num_warps=4, num_stages=3, num_ctas=None, maxnreg=None, constexprs={"BM": 256}, args={}
    )
    finding = replace(_FINDING, code="IRL404", stage="ptx", blame=blame)
    symptom = Symptom(finding, parse("module {\n}\n", stage="ttir"), config, target="sm_90")
    words = [each.words for each in changes_for(symptom)]
    assert "num_warps=8" in words
    assert "BM=128 in place of 256" in words


def test_another_reason_of_a_load_is_said() -> None:
    before = replace(_FINDING, code="IRL203", blame=Blame(reason="one"))
    after = replace(_FINDING, code="IRL203", blame=Blame(reason="another"))
    assert _otherwise(before, [after]) == "another"
    assert _otherwise(replace(before, code="IRL501"), [after]) == ""


def test_a_change_that_cannot_be_launched_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def warps(_: Symptom) -> Iterator[Change]:
        yield Change("num_warps=32", {"num_warps": "32"})

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL403", warps)
    (found,) = _explained("column_sum", "gfx942", "IRL403")
    (only,) = found.experiments
    assert (only.gone, only.error) == (None, "it cannot be launched so")


def test_a_change_that_leaves_what_it_blames_proves_nothing() -> None:
    for each in _explained("convolution", "gfx942", "IRL102"):
        for one in each.experiments:
            if "known to be a multiple" in one.change:
                assert not (one.gone and one.is_cause), one.change


def test_the_right_factor_of_a_scaled_product_is_turned_along_k() -> None:
    found = _explained("microscaled", "sm_100", "IRL203")
    (turned,) = (each for each in found if "only with K contiguous" in each.finding.message)
    assert turned.proof == "proved"
    assert turned.experiments[0].change == "the addresses known to be contiguous along K"


def test_no_pass_of_the_pipeline_decides_that_elements_repeat() -> None:
    (found,) = _explained("packed", "h100", "IRL309")
    assert (found.proof, found.decided_by) == ("proved", "")


def test_findings_are_explained_without_passes_that_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pass_dumps, "_TIMES_AN_ARTIFACT", 0)
    configurations = Configurations(targets=("sm_90",), settings=(("num_stages", ("2",)),), args=())
    said = why("softmax", configurations, Session(), ("IRL202",))
    assert "the limit for one input" in said.passes_unknown
    (found,) = said.explanations
    assert (found.proof, found.decided_by) == ("proved", "")


def test_shared_memory_is_explained_by_what_it_holds() -> None:
    (found,) = _explained("transpose", "gfx942", "IRL103")
    assert found.cause == "16,384 B of it are scratch of ttg.convert_layout at transpose.py:38"
    assert (found.proof, found.decided_by) == ("proved", "AllocateAMDGPUSharedMemory")
    assert not any("num_stages" in each.change for each in found.experiments)


@pytest.mark.parametrize(
    ("size", "grid", "other", "programs", "expected"),
    [
        (16, (256, 1, 1), 32, (128, 1, 1), True),
        (64, (10, 4, 1), 32, (19, 4, 1), True),
        (64, (10, 1, 1), 32, (19, 1, 1), True),  # of 600 rows
        (64, (10, 1, 1), 32, (30, 1, 1), False),  # more of the problem
        (64, (1, 1, 1), 32, (1, 1, 1), False),  # a head's size
        (64, (8, 1, 1), 32, (8, 1, 1), False),
    ],
)
def test_a_tile_divides_the_grid_and_a_size_of_the_problem_does_not(
    size: int,
    grid: tuple[int, int, int],
    other: int,
    programs: tuple[int, int, int],
    expected: bool,
) -> None:
    """Where it is unknown what is accessed, the number of programs tells them apart."""
    before = Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={"SIZE": size}, args={},
        grid=grid,
    )  # fmt: skip
    after = replace(before, constexprs={"SIZE": other}, grid=programs)
    assert _divides_grid(["SIZE"], before, after) is expected
    assert _divides_grid(["SIZE"], after, before) is expected
    assert not _divides_grid(["SIZE", "OTHER"], before, after)
