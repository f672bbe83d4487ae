"""``irlens sweep`` from the command line: run, killed, and resumed."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

import irlens
from irlens.compiler.toolchains import triton_version
from irlens.model.capture import Capture
from irlens.model.sweep import Sweep
from irlens.report.inspection import Inspection
from tests import running
from tests.running import Ran, inline

__all__ = ["inline"]

DEADLY = """
import inspect, os, signal
import triton, triton.language as tl

def deadly(args):
    planning = any("planning.py" in frame.filename for frame in inspect.stack())
    if args["BLOCK"] == 128 and not planning:
        os.kill(os.getpid(), signal.SIGSEGV)
    return True

@triton.heuristics({"EVEN": deadly})
@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

IRLENS_KERNELS = {"fill": {"args": {"x_ptr": "fp32[4096]"}, "grid": [1]}}
"""

CHOOSY = """
import triton, triton.language as tl

OTHER = tl.constexpr(triton.__version__ == "3.99.0")

@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 128 or not OTHER, "is not for this version")
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

IRLENS_KERNELS = {"fill": {"args": {"x_ptr": "fp32[4096]"}, "grid": [1]}}
"""

#: Compiles five configurations as long as there is the file, and waits with the others.
GATED = """
import inspect, os, time
import triton, triton.language as tl

HOLD, BEGUN = {hold!r}, {begun!r}

def wait(args):
    if not any("planning.py" in frame.filename for frame in inspect.stack()):
        begun = os.open(BEGUN, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(begun, b".")
        number = os.lseek(begun, 0, os.SEEK_CUR)
        while number > 5 and os.path.exists(HOLD):
            time.sleep(0.02)
    return True

@triton.heuristics({{"EVEN": wait}})
@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

IRLENS_KERNELS = {{"fill": {{"args": {{"x_ptr": "fp32[4096]"}}, "grid": [1]}}}}
"""


def decoded(ran: Ran) -> Sweep:
    return msgspec.json.decode(ran.out, type=Sweep)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "irlens", "sweep", *arguments], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def sweep(*arguments: str) -> Ran:
    """Sweep in a process of its own, with workers."""
    process = start(*arguments)
    out, err = process.communicate()
    return Ran(process.returncode, out.encode(), err)


def sweep_here(*arguments: str) -> Ran:
    """Sweep in this process; with the fixture ``inline`` it is that of the workers as well."""
    return running.irlens("sweep", *arguments)


def stored(store: Path) -> list[Capture]:
    return list(irlens.load(store / "captures"))


def captures(store: Path) -> dict[str, int]:
    """Return when each stored capture was made, by its name."""
    folder = store / "captures"
    paths = folder.iterdir() if folder.is_dir() else []
    made = {p.name: p / "000" / "irlens.json" for p in paths if not p.name.startswith(".")}
    return {name: manifest.stat().st_mtime_ns for name, manifest in made.items()}


def journal_lines(store: Path) -> list[bytes]:
    journals = (store / "sweeps").glob("*.jsonl")
    return [line for each in journals for line in each.read_bytes().splitlines() if line]


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def gone(workers: list[int]) -> None:
    """Wait for the workers to follow their parent; each may have something to finish."""
    deadline = time.monotonic() + 60
    while any(map(alive, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """The file that keeps ``grid`` from its end."""
    path = tmp_path / "hold"
    path.touch()
    return path


@pytest.fixture
def grid(tmp_path: Path, hold: Path) -> tuple[str, ...]:
    """What sweeps over 12 configurations, and does not get beyond the fifth for now."""
    path = tmp_path / "gated.py"
    path.write_text(GATED.format(hold=str(hold), begun=str(tmp_path / "begun")))
    return (str(path), "-t", "sm_80", "--set", "BLOCK=64..2048..x2", "--num-warps", "2,4",
            "--jobs", "2")  # fmt: skip


@pytest.mark.usefixtures("inline")
def test_a_grid_with_constraints() -> None:
    ran = sweep_here("softmax", "-t", "h100,t4", "--num-stages", "1..3", "--num-warps", "4,8",
                "--where", "num_stages * num_warps <= 16",
                "--where", "arch == 'sm_90' or num_stages == 3",
                "--filter", "registers < 1000", "--format", "json")  # fmt: skip
    assert ran.code == 0, ran.err
    found = decoded(ran)
    assert [target.product for target in found.targets] == ["h100", "t4"]
    assert {trial.label for trial in found.on(found.targets[1])} == {"num_warps=4 num_stages=3"}
    assert {trial.label for trial in found.on(found.targets[0])} == {
        "num_warps=4 num_stages=1", "num_warps=4 num_stages=2", "num_warps=4 num_stages=3",
        "num_warps=8 num_stages=1", "num_warps=8 num_stages=2",
    }  # fmt: skip
    assert found.excluded == 6
    assert found.filtered == 0
    times = [trial.figure("time") for trial in found.on(found.targets[0])]
    assert times == sorted(times)  # type: ignore[type-var]


@pytest.mark.usefixtures("inline")
def test_a_rank_keeps_the_top_and_says_why_the_others_lost(tmp_path: Path) -> None:
    configs = tmp_path / "configs.json"
    ran = sweep_here(
        "matmul_tiled", "--num-warps", "4,8", "--num-stages", "2,3", "-t", "h200",
        "--rank", "time", "--top", "1", "--prune-list", str(configs), "-f", "json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = decoded(ran)
    assert len(found.trials) == 1
    figures = [each.figures or {} for each in (*found.trials, *found.outranked)]
    times = [float(each["time"] or 0) for each in figures]
    assert len(times) == 4
    assert times == sorted(times)
    assert all(each.bound for each in found.outranked)
    assert len(json.loads(configs.read_text())) == 1


@pytest.mark.usefixtures("inline")
def test_what_does_not_compile_or_fit_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    listed = tmp_path / "fitting.json"
    arguments = ("matmul", "-t", "sm_80", "--num-stages", "2,6", "--num-warps", "8",
                 "--set", "BLOCK_SIZE_M=64", "--set", "BLOCK_SIZE_N=256",
                 "--set", "BLOCK_SIZE_K=16,24,64", "--set", "GROUP_SIZE_M=8")  # fmt: skip
    ran = sweep_here(*arguments, "--prune-list", str(listed))
    assert ran.code == 0, ran.err
    assert "arange's range must be a power of 2" in ran.out
    assert "2 configurations, all with BLOCK_SIZE_K=24" in ran.out
    assert "shared memory: 204,800 bytes/CTA requested" in ran.out
    again = sweep_here(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(again.out)))
    outcomes = {(row["num_stages"], row["BLOCK_SIZE_K"]): row["outcome"] for row in rows}
    assert outcomes == {
        ("2", "16"): "fits", ("6", "16"): "fits", ("2", "64"): "fits",
        ("6", "64"): "does not fit", ("2", "24"): "failed", ("6", "24"): "failed",
    }  # fmt: skip
    fitting = json.loads(listed.read_text())
    assert len(fitting) == 3
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 8}
    assert {"kwargs": blocks, "num_warps": 8, "num_stages": 6, "num_ctas": 1} in fitting
    assert sweep_here(*arguments, "--filter", "registers < 1").code == 1


def test_a_worker_that_dies_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(DEADLY)
    ran = sweep(str(path), "-t", "sm_80", "--set", "BLOCK=64..512..x2", "--format", "json")
    assert ran.code == 0, ran.err
    found = {trial.settings["BLOCK"]: trial for trial in decoded(ran).trials}
    assert {block: trial.outcome for block, trial in found.items()} == {
        64: "fits", 128: "died", 256: "fits", 512: "fits",
    }  # fmt: skip
    assert found[128].reason == "worker died (signal 11, SIGSEGV)"


def test_a_configuration_that_takes_too_long_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text(DEADLY.replace("os.kill(os.getpid(), signal.SIGSEGV)", "time.sleep(3600)")
                    .replace("import inspect, os, signal", "import inspect, time"))  # fmt: skip
    assert "time.sleep" in path.read_text()
    grid = (str(path), "-t", "sm_80", "--set", "BLOCK=64..512..x2", "--timeout", "10")
    ran = sweep(*grid, "--format", "json")
    assert ran.code == 0, ran.err
    found = {trial.settings["BLOCK"]: trial for trial in decoded(ran).trials}
    assert {block: trial.outcome for block, trial in found.items()} == {
        64: "fits", 128: "timed out", 256: "fits", 512: "fits",
    }  # fmt: skip
    assert found[128].reason == "not finished after 10 s"


def test_a_killed_sweep_goes_on_where_it_was(
    store: Path, grid: tuple[str, ...], hold: Path
) -> None:
    # With four workers, three configurations are inspected together.
    process = start(*grid, "--jobs", "4", "--format", "json")
    until(lambda: len(captures(store)) == 5 and len(journal_lines(store)) >= 3, process)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    gone(workers)
    there = captures(store)
    assert len(there) == 5
    assert len(journal_lines(store)) >= len(there) - 4, "at most what was in flight may be missing"
    (journal,) = (store / "sweeps").glob("*.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"number": 3, "fou')
    hold.unlink()
    ran = sweep(*grid, "--format", "json")
    assert ran.code == 0, ran.err
    assert len(decoded(ran).trials) == 12
    after = captures(store)
    assert {name: after[name] for name in there} == there, "nothing is compiled twice"
    assert len(after) == 12
    assert not list((store / "sweeps").glob("*.jsonl"))


def test_an_interrupted_sweep_says_how_far_it_came(store: Path, grid: tuple[str, ...]) -> None:
    process = start(*grid)
    until(lambda: len(captures(store)) == 5, process)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert out == ""
    assert re.search(r"\b[3-5] of 12 are done; the same command resumes", err)
    assert "Traceback" not in err
    gone(workers)


def test_tritons_are_an_axis(store: Path, other_triton: Path, tmp_path: Path) -> None:
    listed = tmp_path / "fitting.json"
    arguments = ("softmax", "-t", "sm_80", "--num-stages", "2,3", "--python", str(other_triton),
                 "--triton", triton_version())  # fmt: skip
    ran = sweep(*arguments, "--format", "json", "--prune-list", str(listed))
    assert ran.code == 0, ran.err
    trials = decoded(ran).trials
    assert {trial.label for trial in trials} == {
        f"Triton {version} num_stages={stages}"
        for version in ("3.99.0", triton_version()) for stages in (2, 3)
    }  # fmt: skip
    assert all(trial.triton == trial.triton_version for trial in trials)
    assert len(captures(store)) == 4
    made = {report.triton_version for report in map(Inspection, stored(store))}
    assert made == {"3.99.0", triton_version()}
    fitting = json.loads(listed.read_text())
    assert sorted(entry["num_stages"] for entry in fitting) == [2, 3]
    table = sweep(*arguments).out
    assert "\nTriton  num_stages" in table
    rows = list(csv.DictReader(io.StringIO(sweep(*arguments, "--format", "csv").out)))
    assert {row["triton"] for row in rows} == {"3.99.0", triton_version()}


def test_what_fits_with_one_triton_only_is_no_config(tmp_path: Path, other_triton: Path) -> None:
    path, listed = tmp_path / "choosy.py", tmp_path / "fitting.json"
    path.write_text(CHOOSY)
    ran = sweep(str(path), "-t", "sm_80", "--set", "BLOCK=64,128", "--python", str(other_triton),
                "--triton", triton_version(), "--prune-list", str(listed))  # fmt: skip
    assert ran.code == 0, ran.err
    assert [entry["kwargs"] for entry in json.loads(listed.read_text())] == [{"BLOCK": 64}]
    assert "Triton 3.99.0 BLOCK=128" in ran.out
    assert "is not for this version" in ran.out


@pytest.mark.usefixtures("inline")
def test_one_triton_by_two_names_is_one(store: Path) -> None:
    ran = sweep_here("vector_add", "-t", "sm_80", "--triton", triton_version(), "--python",
                sys.executable, "--format", "json")  # fmt: skip
    assert ran.code == 0, ran.err
    (trial,) = decoded(ran).trials
    assert (trial.label, trial.triton, trial.triton_version) == ("", None, triton_version())


def test_a_compiler_that_dies_elsewhere_is_a_row(tmp_path: Path, other_triton: Path) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(DEADLY)
    ran = sweep(str(path), "-t", "sm_80", "--set", "BLOCK=64,128", "--python", str(other_triton),
                "--format", "json")  # fmt: skip
    assert ran.code == 0, ran.err
    found = {trial.settings["BLOCK"]: trial for trial in decoded(ran).trials}
    assert {block: trial.outcome for block, trial in found.items()} == {64: "fits", 128: "died"}
    assert "was stopped by SIGSEGV while it worked with its Triton" in found[128].reason
    assert found[128].triton_version == "3.99.0"


def test_another_triton_s_answers_are_not_gone_on_with(
    store: Path, other_triton: Path, grid: tuple[str, ...], hold: Path
) -> None:
    process = start(*grid, "--python", str(other_triton))
    until(lambda: len(captures(store)) == 5, process)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    gone(workers)
    (journal,) = (store / "sweeps").glob("*.jsonl")
    kept = journal.read_bytes()
    hold.unlink()
    ran = sweep(*grid, "--format", "json")
    assert ran.code == 0, ran.err
    assert {trial.triton_version for trial in decoded(ran).trials} == {triton_version()}
    assert journal.read_bytes() == kept


#: irlens with a GPU that takes no time to time, and is interrupted at the third configuration.
WITH_A_GPU = """
import os, signal, sys
from irlens.compiler import Device, local_gpu as device
from irlens.model.config import Target
from irlens.model.sweep import Measurement, Timing
from irlens.sweeps import measuring

uuid, log = sys.argv[1:3]
sys.argv[1:3] = []

class Stopwatch:
    def __init__(self, kernel, device, against, requests): pass
    def stop(self): pass
    def measure(self, trial):
        with open(log, "a") as file:
            print(uuid, trial.label, file=file)
        with open(log) as file:
            if len(file.readlines()) == 3:
                os.kill(os.getpid(), signal.SIGINT)
        return Measurement(timing=Timing(median_ms=2, fast_ms=1, slow_ms=3))

here = Device(Target(vendor="nvidia", arch="sm_80", warp_size=32), 108, "NVIDIA A100", uuid)
device.nvidia_driver = lambda: "570.1"
measuring.find_device, measuring._Stopwatch = lambda: here, Stopwatch
measuring.find_spec = lambda name: name  # PyTorch is here, too
import irlens.cli
irlens.cli.main()
"""


@pytest.mark.parametrize("again", ["GPU-1", "GPU-2"])
def test_an_interrupted_measurement_goes_on_with_the_same_gpu(
    store: Path, tmp_path: Path, again: str
) -> None:
    log = tmp_path / "log"
    log.touch()

    def measure(uuid: str) -> "subprocess.CompletedProcess[str]":
        arguments = ("vector_add", "-t", "sm_80", "--num-warps", "1,2,4,8", "--measure",
                     "--set", "BLOCK_SIZE=64", "--format", "json")  # fmt: skip
        command = [sys.executable, "-c", WITH_A_GPU, uuid, str(log), "sweep", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    first = measure("GPU-1")
    assert first.returncode == 130, first.stderr
    assert "irlens: 2 of 4 are timed; the same command resumes" in first.stderr
    assert len(list((store / "sweeps").iterdir())) == 1
    second = measure(again)
    assert second.returncode == 0, second.stderr
    found = msgspec.json.decode(second.stdout, type=Sweep)
    assert all(trial.timing is not None for trial in found.trials)
    warps = [int(line.rpartition("=")[2]) for line in log.read_text().splitlines()]
    if again == "GPU-1":
        assert warps == [1, 2, 4, 4, 8]
        assert "repeating times" not in second.stderr
    else:
        assert warps == [1, 2, 4, 1, 2, 4, 8]
        told = (
            "repeating times that were taken on another GPU or driver: NVIDIA A100, GPU-1, driver"
        )
        assert told in second.stderr
    assert not list((store / "sweeps").iterdir())


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("softmax", "--where", "num_warp > 3"), "unknown name in --where 'num_warp'"),
        (("softmax", "--where", "num_warps > 99"), "--where leaves none of the 1 configurations"),
        (("softmax", "--filter", "occupncy > 0.5"), "did you mean occupancy"),
        (("softmax", "--sort", "speed"), "unknown figure in --sort 'speed'"),
        (("softmax", "--set", "BLOK_SIZE=4"), "BLOCK_SIZE"),
        (("softmax", "--measure"), "--measure needs a GPU"),
        (("softmax", "--against", "eager"), "--against needs --measure"),
        (("softmax", "--against", "eagre", "--measure"), "'eagre' is not one of eager, compile"),
        (("softmax", "--prune-list", "-"), "would both go to stdout"),
        (("softmax", "--jobs", "2", "--cluster", "tcp://localhost:1"), "--jobs has no effect"),
        (
            ("softmax", "--triton", "3.6", "--cluster", "tcp://localhost:1"),
            "use their own Triton",
        ),
        (("softmax", "--triton", "3.1"), "Triton 3.1: irlens compiles with 3.2 or newer"),
        (("softmax", "--python", "no-such"), "no such version or interpreter: no-such"),
        (("softmax", "--cluster", "tcp://localhost:1"), "no Dask scheduler answers"),
        (
            ("softmax", "--num-warps", "1..1000", "--num-stages", "0..50", "--triton", "3.6,3.7"),
            "102,000 configurations exceed",
        ),
        (
            ("softmax", "--num-warps", "1..1000", "--num-stages", "1..1000"),
            "1,000,000 configurations exceed",
        ),
        (("softmax", "--where", "num_stages >"), "'num_stages >': invalid syntax\n"),
        (("softmax", "--filter", "registers <"), "is not an expression: invalid syntax\n"),
        (("sofmax",), "softmax"),
        (("samples/captures/softmax-h100",), "holds one configuration"),
        (("softmax", "--format", "xml"), "unknown format 'xml'"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], complaint: str) -> None:
    if "--measure" in arguments and Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU")
    if "scheduler" in complaint and find_spec("distributed") is None:
        complaint = 'pip install "irlens[cluster]"'
    ran = sweep_here(*arguments, *(("-t", "h100") if arguments[0] == "softmax" else ()))
    assert ran.code == 2, ran.out
    assert complaint in ran.err
    assert "Traceback" not in ran.err
