"""The path from a subject to reports, which the command line, the TUI and the library share."""

import shutil
from pathlib import Path

import pytest

import irlens
from irlens.compiler import Request
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError, IrlensError
from irlens.session import Configurations, is_compiled
from irlens.session.interactive import open_session
from irlens.session.recipes import from_root, to_cwd
from irlens.session.session import Session

SAMPLES = Path(__file__).parents[2] / "samples"
CAPTURE = SAMPLES / "captures" / "softmax-h100"


class Notes:
    """Collects the messages of a session."""

    def __init__(self) -> None:
        self.lasting: list[str] = []
        self.transient: list[str] = []

    def __call__(self, message: str) -> None:
        self.lasting.append(message)


def test_every_interface_returns_the_same_report(monkeypatch: pytest.MonkeyPatch) -> None:
    (capture,) = irlens.load(CAPTURE)
    report, with_sass = irlens.inspect(capture), irlens.inspect(capture, sass=True)
    monkeypatch.setattr("irlens.report.inspect", None)  # the others take the remembered report
    assert Session().reports(str(CAPTURE), Configurations(), Disassembly.REQUIRE) == [with_sass]
    assert Session().reports(str(CAPTURE), Configurations(), Disassembly.SKIP) == [report]
    interactive = open_session(str(CAPTURE), Configurations(), Session())
    key = interactive.single()
    assert key is not None
    assert interactive.report(key) == report


def test_a_broken_capture_is_reported_and_skipped(tmp_path: Path) -> None:
    notes = Notes()
    for name in ("intact", "broken"):
        shutil.copytree(CAPTURE, tmp_path / name)
    (tmp_path / "broken" / "softmax_kernel.cubin").write_bytes(b"no ELF")
    reports = Session(notes).reports(str(tmp_path), Configurations())
    assert [report.kernel for report in reports] == ["softmax_kernel"]
    (note,) = notes.lasting
    assert note.startswith(f"skipped {tmp_path / 'broken'}: ")
    with pytest.raises(ArtifactError, match="broken: ") as caught:
        Session().reports(str(tmp_path / "broken"), Configurations())
    assert str(tmp_path / "broken") in caught.value.message


def test_requests_are_every_combination_and_the_default_target_is_announced_once() -> None:
    notes = Notes()
    session = Session(notes)
    configurations = Configurations(
        settings=(("num_stages", ("2", "4")), ("BLOCK_SIZE", ("64", "128"))), run=False
    )
    for _ in range(2):
        requests = list(session.requests("softmax", configurations))
    assert [request.settings for request in requests] == [
        {"num_stages": stages, "BLOCK_SIZE": size} for stages in (2, 4) for size in (64, 128)
    ]
    assert notes.lasting in ([], ["no GPU present and no --target: compiling for h100"])


def test_a_session_compiles_what_the_store_lacks() -> None:
    notes, compiled = Notes(), list[Request]()

    def compile_(request: Request) -> list[Capture]:
        compiled.append(request)
        return list(irlens.load(CAPTURE))

    configurations = Configurations(targets=("h100",), settings=(("num_stages", ("23",)),))
    captures = Session(notes, compile_, announce=notes.transient.append).captures(
        "softmax", configurations
    )
    assert [capture.kernel for capture in captures] == ["softmax_kernel"]
    assert [request.settings for request in compiled] == [{"num_stages": 23}]
    assert notes.transient == ["compiling softmax for h100 ..."]
    assert notes.lasting == []


def test_options_do_not_apply_to_saved_reports() -> None:
    report = SAMPLES / "reports" / "softmax-h100.json"
    assert is_compiled(str(report))
    with pytest.raises(IrlensError, match="already compiled"):
        Session().reports(str(report), Configurations(targets=("h100",)))
    with pytest.raises(IrlensError, match="saved report, which holds no code"):
        Session().captures(str(report), Configurations())


def test_one_kernel_of_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample's name stays the sample's, beside a folder of that name."""
    monkeypatch.chdir(tmp_path)
    for name in ("irlens-run", "softmax"):
        (tmp_path / name).mkdir()
    assert is_compiled("irlens-run:softmax_kernel")
    assert is_compiled("./softmax:softmax_kernel")
    assert not is_compiled("softmax:softmax_kernel")
    assert not is_compiled("other:softmax_kernel")
    (report,) = Session().reports(f"{SAMPLES / 'captures'}:spill_kernel", Configurations())
    assert report.kernel == "spill_kernel"


def test_an_empty_name_is_not_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell's variable that is not set would compare a directory with itself, or check it."""
    monkeypatch.chdir(SAMPLES)
    assert not is_compiled("")
    assert from_root("", SAMPLES) == to_cwd("", SAMPLES) == ""


@pytest.mark.filterwarnings("default")
def test_warnings_of_the_compiler_are_notes_and_come_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "warned.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def warned(x, n, BLOCK: tl.constexpr):\n    at = tl.arange(0, BLOCK)\n"
        "    tl.store(x + at, 1.0, mask=(at < n) and (at > 2))\n"
    )
    notes = Notes()
    configurations = Configurations(
        targets=("h100",),
        args=(("x", ("fp32[64]",)), ("n", ("64",))),
        settings=(("BLOCK", ("64",)),),
    )
    Session(notes).captures(f"{file}:warned", configurations)
    (note,) = (each for each in notes.lasting if not each.startswith("the grid is unknown"))
    assert note.startswith("warned.py:7: Logical operators 'and' and 'or' are deprecated")
    out, err = capfd.readouterr()
    assert "deprecated" not in out + err
    assert "tracemalloc" not in out + err


def test_a_directory_of_too_many_captures_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irlens.session.session._MOST_CAPTURES", 2)
    for name in "abc":
        shutil.copytree(CAPTURE, tmp_path / name)
    with pytest.raises(IrlensError, match="holds more than 2 captures") as raised:
        Session().captures(str(tmp_path), Configurations())
    assert "irlens scan" in str(raised.value.hint)
