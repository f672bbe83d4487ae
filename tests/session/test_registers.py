"""One register figure: the machine code's live registers stand beside the allocated ones."""

from pathlib import Path

import msgspec
import pytest

from irlens import load
from irlens.artifacts import tools
from irlens.model.capture import Disassembly
from irlens.model.errors import ToolError
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.source import SourceLocation
from irlens.render import DETAILS, Options, render
from irlens.report import inspection
from irlens.session import Configurations
from irlens.session import reports as session_reports
from irlens.session.reports import report_of
from irlens.session.session import Session

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SOFTMAX = CAPTURES / "softmax-h100"


@pytest.fixture
def no_disassembler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))

    def missing(_cubin: bytes) -> str:
        raise ToolError("nvdisasm is neither in an installed Triton nor on PATH")

    monkeypatch.setattr(tools, "disassemble", missing)


def text(path: Path, *, width: int = 100) -> str:
    found = Session().reports(str(path), Configurations())
    return render("text", "reports", found, Options(width=width))


def test_few_captures_are_disassembled() -> None:
    assert "live at softmax.py" in text(SOFTMAX)


@pytest.mark.parametrize("name", ["softmax-h100", "spill-h100", "matmul-b200"])
def test_virtual_registers_never_stand_beside_the_allocated_ones(name: str) -> None:
    capture = next(iter(load(CAPTURES / name)))
    for sass in (False, True):
        report = report_of(capture, Disassembly(sass))
        for form in ("text", "markdown"):
            page = render(form, "reports", [report], Options(width=120))
            assert "live in ptx" not in page
            assert ("live registers unknown: the machine code was not" in page) == (not sass)
    everything = Options(width=120, details=frozenset(DETAILS))
    page = render("text", "reports", [report_of(capture, Disassembly.REQUIRE)], everything)
    assert "virtual registers, before ptxas allocates" in page


def test_many_captures_are_not_disassembled_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_reports, "_MOST_DISASSEMBLED", 1)
    captures = [next(iter(load(SOFTMAX))) for _ in range(2)]
    for sass, expected in ((None, False), (True, True), (False, False)):
        for _, report in Session().inspect("two", captures, Disassembly(sass)):
            assert (report.pressure.sass is not None) == expected


@pytest.mark.usefixtures("no_disassembler")
def test_without_a_disassembler_the_report_says_so() -> None:
    capture = next(iter(load(SOFTMAX)))
    report = report_of(capture, Disassembly.TRY)
    assert report.pressure.sass is None
    assert report.unknown["pressure.sass"].startswith("nvdisasm is neither")
    assert "live registers unknown: nvdisasm is neither" in text(SOFTMAX)


def test_the_machine_code_speaks() -> None:
    def at(line: int) -> StagePressure:
        return StagePressure(peak=line, line=1, source=SourceLocation("a.py", line))

    every = Pressure(ptx=at(1), sass=at(2))
    assert [name for name, _ in every.stages()] == ["sass", "ptx"]
    assert every.live == ("sass", every.sass)
    assert Pressure(ptx=at(1)).live is None
    assert Pressure(amdgcn=at(3)).live == ("amdgcn", at(3))
    unknown = msgspec.structs.replace(at(2), peak=None)
    assert Pressure(ptx=at(1), sass=unknown).live is None


def test_a_capture_without_machine_code_has_virtual_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = text(SOFTMAX / "softmax_kernel.ptx")
    assert "Registers   30 per thread" in page
    assert "the cubin is not in this capture: ptxas" in page
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(inspection, "with_machine_code", lambda capture, _: capture)
    page = text(SOFTMAX / "softmax_kernel.ptx")
    assert "In PTX      24 virtual registers" in page
