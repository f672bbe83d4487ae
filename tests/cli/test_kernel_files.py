"""Files with several kernels, and folders of kernels, as a project has them."""

from pathlib import Path

import msgspec
import pytest

from irlens.model.errors import CaptureError
from irlens.session import Configurations
from irlens.session.interactive import open_session
from irlens.session.session import Session
from tests import running
from tests.running import Ran

HEAD = "import triton\nimport triton.language as tl\n"
KERNELS = f'''{HEAD}
@triton.jit
def helper(x):
    return x * 2

@triton.jit
def first(BLOCK: tl.constexpr = 64):
    """The first one."""
    helper(tl.arange(0, BLOCK))

@triton.jit
def second(x_ptr, n):
    tl.store(x_ptr + n, 1.0)

@triton.jit
def third():
    pass
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.irlens]\nkernels = "mine"\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "several.py").write_text(KERNELS)
    (tmp_path / "mine" / "broken.py").write_text("def (\n")
    (tmp_path / "mine" / "single.py").write_text(HEAD + "@triton.jit\ndef only(): pass\n")
    return tmp_path


def irlens(folder: Path, *arguments: str) -> Ran:
    return running.irlens(*arguments, cwd=folder)


def test_a_file_stands_for_all_its_kernels(project: Path) -> None:
    ran = irlens(project, "inspect", "mine/several.py", "-t", "h100", "--format", "json")
    assert ran.code == 0, ran.err
    reports = msgspec.json.decode(ran.out)
    assert [report["kernel"] for report in reports] == ["first", "third"]
    assert ran.err.splitlines() == [
        "irlens: skipped mine/several.py:second: second needs a value for x_ptr, n; "
        "for example  irlens inspect mine/several.py:second "
        "--arg 'x_ptr=fp32[1048576]' --arg n=1024 --grid 1"
    ]
    given = ("-a", "x_ptr=fp32[64]", "-a", "n=3")
    ran = irlens(project, "inspect", "several", "-t", "h100", "--format", "json", *given)
    assert msgspec.json.decode(ran.out)["kernel"] == "second"
    assert "skipped several:third: unknown argument 'x_ptr'\n" in ran.err


def test_where_no_kernel_compiles_the_error_names_one(project: Path) -> None:
    text = KERNELS.replace("third()", "third(y_ptr)").replace(" = 64", "")
    (project / "several.py").write_text(text)
    ran = irlens(project, "inspect", "several.py", "-t", "h100")
    assert ran.code == 2
    assert ran.err.count("skipped") == 3
    assert ran.err.splitlines()[-2:] == [
        "irlens: error: none of the 3 kernels in several.py compiles as it is",
        "  name one, with its arguments: several.py:first --arg NAME=VALUE",
    ]


def test_a_sweep_wants_one_kernel_and_lists_them(project: Path) -> None:
    ran = irlens(project, "sweep", "mine/several.py", "-t", "h100")
    assert ran.code == 2
    assert "has several kernels: first, second, third\n  write mine/several.py:first" in ran.err


def test_a_broken_file_does_not_hide_the_kernels(project: Path) -> None:
    ran = irlens(project, "kernels", "--format", "json")
    assert ran.code == 0
    kernels = {each["name"]: each for each in msgspec.json.decode(ran.out)}
    assert {"several:first", "several:second", "several:third", "single", "softmax"} < set(kernels)
    assert kernels["several:first"]["summary"] == "The first one."
    (note,) = ran.err.splitlines()
    assert note.startswith("irlens: skipped broken: ")
    assert note.endswith("broken.py:1: invalid syntax")


def test_the_tui_offers_every_kernel(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    session = open_session("mine/several.py", Configurations(), Session())
    entries = list(session.entries())
    assert [entry.kernel for entry in entries] == ["first", "second", "third"]
    names = [entry.key for entry in entries]
    assert names == [f"mine/several.py:{name}" for name in ("first", "second", "third")]
    assert session.single() is None
    assert session.report(names[0]).kernel == "first"
    everything = open_session(None, Configurations(), Session())
    listed = {entry.kernel for entry in everything.entries()}
    assert {"several:first", "several:third", "single", "broken"} < listed


def test_the_tui_offers_every_kernel_for_the_options_too(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    chosen = Configurations(targets=("mi300x",), settings=(("num_warps", ("2",)),))
    session = open_session("mine/several.py", chosen, Session())
    first, second, third = (entry.key for entry in session.entries())
    report = session.report(first)
    assert report.target
    assert (report.target.arch, report.config.num_warps) == ("gfx942", 2)
    with pytest.raises(CaptureError, match="second needs a value for x_ptr, n") as raised:
        session.report(second)
    assert (raised.value.hint or "").startswith(
        "for example  irlens inspect mine/several.py:second"
    )
    assert session.report(third).kernel == "third"  # one that fails does not end the session


def test_a_check_takes_the_kernels_that_a_file_describes(project: Path) -> None:
    (project / "mine" / "broken.py").unlink()
    described = 'IRLENS_KERNELS = {"first": {"args": {}}, "third": {"args": {}}}\n'
    (project / "mine" / "several.py").write_text(KERNELS + described)
    ran = irlens(project, "check", "several", "-t", "h100", "--update")
    assert ran.code == 0, ran.err
    baseline = (project / "irlens.baseline.json").read_text()
    assert '"several:first"' in baseline
    assert '"several:third"' in baseline


def test_the_grid_of_the_file_s_own_launch_is_named(tmp_path: Path) -> None:
    """A function of the kernel's own orders its programs, so that the kernel does not tell it."""
    (tmp_path / "ordered.py").write_text(
        HEAD
        + """
@triton.jit
def order(pid, n):
    return n - 1 - pid


@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = order(tl.program_id(0), tl.cdiv(n, BLOCK)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1.0, mask=at < n)


def launch(x):
    fill[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x.numel(), BLOCK=64)
"""
    )
    missing = irlens(tmp_path, "inspect", "ordered.py:fill", "-t", "h100")
    assert "--grid 'cdiv(n, BLOCK)'" in missing.err
    given = ("--arg", "x_ptr=fp32[1000]", "--arg", "n=1000", "--set", "BLOCK=64")
    ran = irlens(tmp_path, "inspect", "ordered.py:fill", "-t", "h100", *given)
    assert ran.err.splitlines() == [
        "irlens: the grid is unknown: --grid 'cdiv(n, BLOCK)' is that of the launch in the file"
    ]
    ran = irlens(tmp_path, "inspect", "ordered.py:fill", "-t", "h100", *given,
                 "--grid", "cdiv(n, BLOCK)")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
