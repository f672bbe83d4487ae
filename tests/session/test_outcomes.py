"""What recompilations come to, against whole reports, and how little is computed for it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.compiler import Request
from irlens.model.capture import Capture
from irlens.report import inspection
from irlens.session import Configurations
from irlens.session.outcomes import Outcome, Outcomes
from irlens.session.reports import complete_report
from irlens.session.session import Session


def compiled(kernel: str, **settings: str) -> Capture:
    configurations = Configurations(
        targets=("h100",), settings=tuple((name, (value,)) for name, value in settings.items())
    )
    (request,) = Session().requests(kernel, configurations)
    (capture,) = Session().compile(request)
    return capture


@pytest.mark.parametrize(
    ("kernel", "tile"),
    [("softmax", {}), ("matmul_tiled", {}), ("spill", {"BLOCK_SIZE": "8192"})],
)
def test_each_part_is_that_of_the_report(kernel: str, tile: dict[str, str]) -> None:
    capture = compiled(kernel, num_warps="2", **tile)
    outcome = Outcome(capture)
    parts = (outcome.occupancy, outcome.work, outcome.estimate_us)
    findings = {each: outcome.findings(each) for each in ("IRL105", "IRL203", "IRL301", "IRL502")}
    report = complete_report(capture)
    assert report.occupancy is not None
    assert report.traffic is not None
    assert report.time is not None
    assert parts == (
        report.occupancy.theoretical,
        (report.traffic.written_bytes, report.traffic.distinct_read_bytes),
        report.time.estimate_us,
    )
    for code, found in findings.items():
        assert found == [each for each in report.findings if each.code == code]
        assert Outcome(capture).findings(code) == found, "from the remembered report"


def test_a_rule_about_loops_evaluates_no_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluated(*_: object) -> None:
        pytest.fail("the programs of the launch are evaluated")

    monkeypatch.setattr(inspection, "find_traffic", evaluated)
    capture = compiled("softmax", num_stages="2", num_warps="1")
    assert [each.code for each in Outcome(capture).findings("IRL202")] == ["IRL202"]


def test_the_last_outcomes_are_kept() -> None:
    outcomes = Outcomes()
    first, *others = (compiled("softmax", num_warps=str(1 << warps)) for warps in range(5))
    known = outcomes.of(first)
    assert outcomes.of(first) is known
    for each in others:
        outcomes.of(each)
    assert outcomes.of(first) is not known


def test_a_launch_without_a_grid_leaves_open_what_the_grid_decides(tmp_path: Path) -> None:
    file = tmp_path / "fill.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def fill(out):\n    tl.store(out + tl.program_id(0), 1.0)\n"
    )
    target = gpus.find("h100").target
    request = Request(kernel=f"{file}:fill", target=target, args={"out": "fp32[1024]"})
    (unlaunched,) = Session().compile(request)
    (launched,) = Session().compile(replace(request, grid=(1024,)))
    assert not Outcome(launched).leaves_open("IRL501")
    assert Outcome(unlaunched).leaves_open("IRL501")
    assert not Outcome(unlaunched).leaves_open("IRL105")
