"""Why kernels have their findings: a table checked by hand against the IR and ptxas's output.

Each row was confirmed in the dumps: what the pass leaves undone, and that Triton's source names the
condition (``AccelerateMatmul.cpp``, ``AssignLatencies.cpp``, ``Coalesce.cpp``), or ptxas says it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens.analyze import counterfactuals
from irlens.analyze.counterfactuals import Change, Symptom
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.why import Explanation
from irlens.session.session import Session
from irlens.session.subject import Configurations
from irlens.session.why import why

ROOT = Path(__file__).parents[2]
FINDINGS = str(ROOT / "tests/data/findings")
RAGGED = {"n_cols": "781", "input_row_stride": "781", "output_row_stride": "781"}
IEEE = {"PRECISION": "'ieee'"}
BY_DOT = {"STAGES": "None", "num_stages": "3"}
WIDE_TILE = {
    "BLOCK_SIZE_M": "128", "BLOCK_SIZE_N": "256", "BLOCK_SIZE_K": "64", "GROUP_SIZE_M": "8",
    "num_warps": "4", "num_stages": "3",
}  # fmt: skip
MULTIPLES = "known to be multiples of 16"

#: Kernel, target, settings, arguments, finding, line's code, pass, what was changed.
TABLE = [
    ("softmax", "sm_80", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_90", {}, RAGGED, "IRL301", "tl.store(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_100", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "gfx942", {}, RAGGED, "IRL301", "tl.store(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "gfx950", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_75", {"num_stages": "4"}, {}, "IRL203", "tl.load(",
     "TritonGPUAssignLatencies", "sm_80"),
    ("softmax", "sm_100", {"num_stages": "2"}, {}, "IRL202", "for row_idx", "TritonGPUPipeline",
     "num_stages=3"),
    (f"{FINDINGS}/loads.py:biased_dot", "sm_90", BY_DOT, {}, "IRL203", "bias_ptr",
     "TritonGPUAssignLatencies", "on the loop itself"),
    (f"{FINDINGS}/loads.py:biased_dot", "gfx942", BY_DOT, {}, "IRL203", "bias_ptr",
     "TritonAMDGPUScheduleLoops", "on the loop itself"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "3"}, {"n_cols": "1023"}, "IRL203",
     "tl.load(", "TritonGPUCoalesce", "stride known"),
    (f"{FINDINGS}/loaded_pointers.py:listed_rows", "sm_90", {}, {}, "IRL203", "tl.load(",
     "TritonGPUCoalesce", "loaded at lines 25, 26 known"),
    (f"{FINDINGS}/dots.py:dots", "sm_80", IEEE, {}, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "tf32"),
    (f"{FINDINGS}/dots.py:dots", "sm_90", IEEE, {}, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "tf32"),
    ("matmul", "sm_90", WIDE_TILE, {}, "IRL404", "tl.dot(", "ptxas", "num_warps=8"),
]  # fmt: skip


def _explained(
    kernel: str, target: str, settings: dict[str, str], args: dict[str, str], code: str
) -> list[Explanation]:
    configurations = Configurations(
        targets=(target,),
        settings=tuple((name, (value,)) for name, value in settings.items()),
        args=tuple((name, (value,)) for name, value in args.items()),
    )
    return why(kernel, configurations, Session(), (code,)).explanations


@pytest.mark.parametrize(
    ("kernel", "target", "settings", "args", "code", "line", "decided_by", "change"),
    TABLE,
    ids=[f"{row[0].rpartition(':')[2]}-{row[1]}-{row[4]}" for row in TABLE],
)
def test_the_table(
    kernel: str, target: str, settings: dict[str, str], args: dict[str, str], code: str,
    line: str, decided_by: str, change: str,
) -> None:  # fmt: skip
    explained = _explained(kernel, target, settings, args, code)
    found = [each for each in explained if line in _code(kernel, each)]
    assert found, [each.finding.message for each in explained]
    for each in found:
        assert each.proof == "proved"
        assert each.decided_by == decided_by
        assert change in each.experiments[0].change
        assert each.experiments[0].gone
    if decided_by == "TritonGPUAccelerateMatmul" and target == "sm_90":
        assert any("MMA version 3 acceleration not applied" in each for each in found[0].said)
    if code == "IRL404":
        assert any("insufficient register resources" in each for each in found[0].said)


def _code(kernel: str, explanation: Explanation) -> str:
    """Return the line of Python that a finding is about."""
    source = explanation.finding.source
    assert source is not None
    path = ROOT / (kernel.rpartition(":")[0] or f"kernels/{kernel}.py")
    return path.read_text("utf-8").splitlines()[source.line - 1]


def test_a_wrong_explanation_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment changes the kernel, and the finding stays."""

    def warps(_: Symptom) -> Iterator[Change]:
        yield Change("num_warps=4", {"num_warps": "4"})

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", warps)
    for each in _explained("softmax", "sm_90", {}, RAGGED, "IRL301"):
        assert each.proof == "refuted"
        assert each.decided_by == ""
        assert [one.gone for one in each.experiments] == [False]


def test_what_does_not_compile_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(symptom: Symptom) -> Iterator[Change]:
        yield Change("a broken ttir", ttir=symptom.module.text.replace("tt.load", "tt.lod"))

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", broken)
    for each in _explained("softmax", "sm_90", {}, RAGGED, "IRL301"):
        assert each.proof == "untested"
        (only,) = each.experiments
        assert only.gone is None
        assert only.error


def test_a_finding_that_is_not_there_is_named() -> None:
    with pytest.raises(IrlensError, match="softmax_kernel has no finding IRL401"):
        _explained("softmax", "sm_90", {}, {}, "IRL401")
    with pytest.raises(UnknownNameError, match="unknown finding 'IRL999'"):
        _explained("softmax", "sm_90", {}, {}, "IRL999")


@pytest.mark.parametrize(
    ("warps", "proof", "blamed"),
    [("2", "proved", "IRL301 at softmax.py:54"), ("1", "relieved", "B of registers per thread")],
)
def test_spills_are_explained_by_a_narrow_access_before_more_warps(
    warps: str, proof: str, blamed: str
) -> None:
    """More warps remove the spills whatever takes the registers: they prove no cause."""
    args = dict.fromkeys(("n_cols", "input_row_stride", "output_row_stride"), "8191")
    (found,) = _explained("softmax", "sm_90", {"num_warps": warps}, args, "IRL105")
    assert found.proof == proof
    assert blamed in found.cause
    first = found.experiments[0]
    assert first.gone
    assert first.is_cause == (proof == "proved")
    assert ("IRL301 at" in first.change) == (proof == "proved")
    assert any("num_warps" in each.change for each in found.experiments) == (proof == "relieved")
