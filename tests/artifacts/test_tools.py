"""The vendor's tools: where they are found, how they fail, and that their answers are kept."""

import gzip
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from irlens.artifacts import store, tools
from irlens.model.errors import ToolError

T = TypeVar("T")

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH, on a machine without Triton."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "find_spec", lambda _: None)
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def install(directory: Path, script: str, name: str = "nvdisasm") -> Path:
    """Put a Python script on PATH as a tool."""
    path = directory / name
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


DISASSEMBLER = """
if sys.argv[1] == "--version":
    print("Build 1")
else:
    calls = open(os.path.join(os.path.dirname(sys.argv[0]), "calls"), "a")
    calls.write("called ")
    print(sys.argv[1:], open(sys.argv[-1]).read(), len(sys.stdin.read()))
"""


def calls(directory: Path) -> int:
    return (directory / "calls").read_text().count("called")


def test_tritons_own_tool_comes_first(pretend: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = install(pretend, "")
    assert tools.find("nvdisasm") == on_path
    inside = pretend / "triton" / "backends" / "nvidia" / "bin"
    inside.mkdir(parents=True)
    own = install(inside, "")
    (pretend / "triton" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(pretend))
    monkeypatch.syspath_prepend(str(pretend))
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    assert tools.find("nvdisasm") == own
    assert tools.find("nvdisasm").is_absolute()


def test_finding_does_not_import_triton() -> None:
    code = (
        "import sys; from irlens.artifacts import tools\n"
        "try: tools.find('nvdisasm')\n"
        "except tools.ToolError: pass\n"
        "assert 'triton' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_tool_is_named(pretend: Path) -> None:
    with pytest.raises(ToolError, match="nvdisasm is neither in an installed Triton nor on PATH"):
        tools.find("nvdisasm")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "sys.exit('tool warning : hm\\ntool fatal   : no such thing')",
            "nvdisasm failed: tool fatal   : no such thing",
        ),
        ("print('out of luck'); sys.exit(3)", "nvdisasm failed: out of luck"),
        ("sys.exit(3)", "nvdisasm failed: exit status 3, and no message"),
        ("os.kill(os.getpid(), 9)", "nvdisasm failed: killed by signal 9"),
    ],
)
def test_a_failure_says_what_the_tool_said(pretend: Path, script: str, message: str) -> None:
    tool = install(pretend, script)
    with pytest.raises(ToolError) as error:
        tools.run(tool, [])
    assert error.value.message == message
    assert error.value.hint is not None
    assert "\n" not in error.value.message + error.value.hint


LOOPS = """
if sys.argv[1] == "--version":
    print("Build 1")
else:
    calls = open(os.path.join(os.path.dirname(sys.argv[0]), "calls"), "a")
    calls.write("called ")
    calls.close()
    while True: pass
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "LISTING_SECONDS", 1)


@pytest.mark.usefixtures("impatient")
def test_a_tool_that_computes_forever_is_stopped_once(pretend: Path) -> None:
    install(pretend, LOOPS)
    stopped = "nvdisasm was stopped after 1 s of processor time"
    for _ in range(2):
        with pytest.raises(tools.StoppedError, match=stopped):
            tools.disassemble(b"one")
    tools._stopped.clear()  # as in the next process
    with pytest.raises(tools.StoppedError, match=stopped):
        tools.disassemble(b"one")
    assert tools.is_disassembled(b"one")
    assert calls(pretend) == 1


HUNGRY = """
try:
    bytearray(1200 << 20)
except MemoryError:
    sys.exit("nvdisasm fatal   : Memory allocation failure")
print("done")
"""


def test_a_tool_gets_no_more_memory(pretend: Path) -> None:
    tool = install(pretend, HUNGRY)
    with pytest.raises(tools.StoppedError, match=r"nvdisasm was stopped at 1\.1 GB of memory"):
        tools.run(tool, [])


def test_a_tool_never_gets_more_than_seconds(
    pretend: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report with the machine code of any cubin takes 10 s at most."""
    given: list[int] = []
    monkeypatch.setattr(tools, "_limit", lambda _, seconds: given.append(seconds))
    tool = install(pretend, "print('Build 1')")
    tools.run(tool, [])
    tools.disassemble(bytes(16 << 20))
    assert (given[0], given[-1]) == (5, 4)


def test_a_tool_that_waits_forever_is_stopped(
    pretend: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_WALL_PER_PROCESSOR_TIME", 1)
    tool = install(pretend, "time.sleep(900)")
    with pytest.raises(ToolError, match="nvdisasm did not end within 1 s"):
        tools.run(tool, [], seconds=1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_tool_ends_with_irlens(pretend: Path, number: signal.Signals) -> None:
    tool = install(pretend, f"open({str(pretend / 'pid')!r}, 'w').write(str(os.getpid()))\n{LOOPS}")
    code = (
        "import sys; from pathlib import Path; from irlens.artifacts import tools\n"
        "tools.run(Path(sys.argv[1]), [''])"
    )
    irlens = subprocess.Popen([sys.executable, "-c", code, str(tool)], stderr=subprocess.DEVNULL)
    try:
        pid = int(wait_for(lambda: read(pretend / "pid")))
    finally:
        irlens.send_signal(number)
    irlens.wait()
    wait_for(lambda: not is_running(pid))


def wait_for(condition: Callable[[], T]) -> T:
    """Return the first true value of a condition."""
    deadline = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_what_cannot_be_started_is_an_error(pretend: Path) -> None:
    tool = pretend / "nvdisasm"
    tool.write_text("no program")
    with pytest.raises(ToolError, match=f"cannot run {tool}: Permission denied"):
        tools.run(tool, [])


def test_arguments_meet_no_shell_and_nothing_is_on_stdin(pretend: Path) -> None:
    tool = install(pretend, "print(sys.argv[1:], len(sys.stdin.read()))")
    assert tools.run(tool, ["$HOME; echo x"]) == "['$HOME; echo x'] 0\n"


def test_answers_are_kept_by_content_and_by_tool_version(pretend: Path) -> None:
    install(pretend, DISASSEMBLER)
    first = tools.disassemble(b"one")
    assert first == "['-c', '-gi', '-gp', '-ndf', 'kernel.cubin'] one 0\n"
    assert tools.disassemble(b"one") == first
    assert calls(pretend) == 1
    tools.disassemble(b"two")
    assert calls(pretend) == 2
    install(pretend, DISASSEMBLER.replace("Build 1", "Build 2"))
    assert tools.disassemble(b"one") == first
    assert calls(pretend) == 3


def kept() -> list[Path]:
    return sorted((store.root() / "sass").iterdir())


def test_a_damaged_answer_is_made_again(pretend: Path) -> None:
    install(pretend, DISASSEMBLER)
    first = tools.disassemble(b"one")
    (path,) = kept()
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], b"nonsense", gzip.compress(b"\xff")):
        path.write_bytes(damaged)
        assert tools.disassemble(b"one") == first
        assert path.read_bytes() == whole
    assert kept() == [path]  # and nothing is left beside it


def test_a_cache_that_cannot_be_written_costs_time_only(pretend: Path) -> None:
    install(pretend, DISASSEMBLER)
    (pretend / "cache").write_text("a file where the directory should be")
    assert tools.disassemble(b"one") == tools.disassemble(b"one")
    assert calls(pretend) == 2


def test_a_tool_without_a_version_is_suspicious(pretend: Path) -> None:
    install(pretend, "")
    with pytest.raises(ToolError, match="nvdisasm --version prints nothing"):
        tools.disassemble(b"one")


def found(*names: str) -> list[Path]:
    try:
        return [tools.find(each) for each in names]
    except ToolError:
        pytest.skip(f"not all of {', '.join(names)} are here")


INDIRECT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry indirect(.param .u64 output, .param .u32 n) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [output];
    ld.param.u32 %r1, [n];
    targets: .branchtargets L0, L1, L2;
    brx.idx %r1, targets;
L0: mov.u32 %r2, 7;
    bra END;
L1: st.global.u32 [%rd1], 3;
    mov.u32 %r2, 9;
    bra END;
L2: ld.global.u32 %r2, [%rd1 + 8];
END: st.global.u32 [%rd1 + 4], %r2;
    ret;
}
"""


def test_indirect_branches_keep_their_targets(tmp_path: Path) -> None:
    nvdisasm, ptxas = found("nvdisasm", "ptxas")
    (tmp_path / "indirect.ptx").write_text(INDIRECT)
    cubin = tmp_path / "indirect.cubin"
    tools.run(ptxas, ["-arch", "sm_90", str(tmp_path / "indirect.ptx"), "-o", str(cubin)])
    listing = tools.disassemble(cubin.read_bytes())
    assert "BRANCH_TARGETS" in listing
    assert listing == tools.run(nvdisasm, ["-c", "-gi", "-gp", cubin.name], directory=tmp_path)


def test_other_code_is_listed_as_by_the_full_analysis() -> None:
    (nvdisasm,) = found("nvdisasm")
    paths = sorted(SAMPLES.glob("*/*.cubin"))
    assert len(paths) > 5
    for path in paths:
        full = tools.run(nvdisasm, ["-c", "-gi", "-gp", path.name], directory=path.parent)
        assert tools.disassemble(path.read_bytes()) == full


def test_the_real_one_refuses_what_is_no_cubin() -> None:
    found("nvdisasm")
    with pytest.raises(ToolError, match=r"^nvdisasm failed: .*kernel\.cubin") as error:
        tools.disassemble(b"\x7fELF and no more")
    assert "/" not in error.value.message
