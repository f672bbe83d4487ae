"""What a recording says of a program's launches, and where its time goes."""

import json
import math
import shutil
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest

from irlens import inspect, load
from irlens.artifacts import npy
from irlens.compiler import compile_request
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.recording import PROGRAM_NAME, ProgramRun, RecordedIndex
from irlens.programs import Options
from irlens.render.options import Options as View
from irlens.render.text import write
from irlens.render.view.program import program_view
from irlens.session import Configurations
from irlens.session.launch import Launch, with_launch
from irlens.session.programs import is_recording, program_runs
from irlens.session.recompile import request_of, source_of
from irlens.session.session import Session
from irlens.session.suggest import requests_near
from tests.programs.test_values import run
from tests.running import irlens

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

PROGRAM = """
@triton.autotune([triton.Config({"BLOCK": size}) for size in (256, 512, 1024)], key=["n"])
@triton.jit
def tuned(x, y, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) * FACTOR, at < n)

def added(n, times):
    x = torch.ones(n, device="cuda")
    out = torch.empty_like(x)
    for seed in range(times):
        add[(triton.cdiv(n, 1024),)](x, x, out, n, BLOCK=1024)  # add
    return x, out

added(1 << 16, 3)
x, out = added(1 << 24, 2)
for _ in range(4):
    tuned[lambda meta: (triton.cdiv(1 << 24, meta["BLOCK"]),)](x, out, 1 << 24, FACTOR=2)
a = torch.ones(512, 256, device="cuda", dtype=torch.bfloat16)
b = torch.ones(256, 128, device="cuda", dtype=torch.bfloat16)
for _ in range(2):
    c = a @ b  # product
(c + 1).t()
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (ran,) = run(folder, PROGRAM).runs
    assert ran.code == 0
    return folder / "kept"


@pytest.fixture(scope="module")
def program(recording: Path) -> ProgramRun:
    (ran,) = program_runs(recording)
    return ran


def line_of(folder: Path, mark: str) -> str:
    lines = (folder.parent / "program.py").read_text().splitlines()
    return f"program.py:{next(n for n, line in enumerate(lines, 1) if line.endswith(mark))}"


def test_launches_are_counted_by_size(recording: Path) -> None:
    index = msgspec.json.decode((recording / PROGRAM_NAME).read_bytes(), type=RecordedIndex)
    (ran,) = index.runs
    assert (index.program, ran.target.arch) == ("program.py", "sm_90")
    adds = [each for each in ran.kernels if each.kernel == "add"]
    assert {each.source for each in adds} == {line_of(recording, "# add")}
    launches = [each for kernel in adds for each in kernel.launches or ()]
    assert sorted((each.number, each.grid) for each in launches) == [
        (2, (1 << 14, 1, 1)),
        (3, (1 << 6, 1, 1)),
    ]
    assert {each.args["n"] for each in launches} == {1 << 16, 1 << 24}


def test_what_only_an_autotuner_tried_is_apart(program: ProgramRun) -> None:
    tuned = next(each for each in program.kernels if each.kernel == "tuned")
    assert (tuned.launches, tuned.variants) == (4, 1)
    assert program.candidates == 2


def test_what_an_autotuned_kernel_is_called_with_is_fixed(recording: Path) -> None:
    fixed = {(each.kernel, each.config.fixed) for each in load(recording)}
    assert fixed == {("tuned", ("FACTOR",)), ("add", ())}


def test_without_a_gpu_the_fastest_candidate_counts(recording: Path, program: ProgramRun) -> None:
    index = msgspec.json.decode((recording / PROGRAM_NAME).read_bytes(), type=RecordedIndex)
    (ran,) = index.runs
    assert ran.is_fake
    variants = [each for each in ran.kernels if each.kernel == "tuned"]
    assert [sum(e.number for e in each.launches or ()) for each in variants] == [4, 0, 0]
    assert [[e.grid for e in each.tried] for each in variants] == [
        [((1 << 24) // size, 1, 1)] for size in (256, 512, 1024)
    ]
    reports = [inspect(capture) for each in variants for capture in load(recording / each.entry)]
    times = [report.time.estimate_us for report in reports if report.time is not None]
    tuned = next(each for each in program.kernels if each.kernel == "tuned")
    assert tuned.each_us == pytest.approx(min(filter(None, times)))
    best = variants[times.index(min(filter(None, times)))]
    assert (tuned.entry, tuned.launches) == (best.entry, 4)
    assert (tuned.choice, tuned.configurations) == ("estimated", 3)
    assert tuned.configuration.startswith("BLOCK=")
    assert {name: n for name, n in program.launched.items() if name.endswith("tuned")} == {
        each.entry: 4 if each is best else 0 for each in variants
    }
    lines = write(program_view([program], View(width=200)), View(width=200)).splitlines()
    assert f"    {tuned.configuration}: the fastest of 3 by estimate" in lines
    assert any(line.startswith("Autotuned   no GPU timed the configurations") for line in lines)


def test_a_suggestion_starts_from_the_fastest_candidate(
    recording: Path, program: ProgramRun
) -> None:
    """All candidates are compiled: none but the fastest is compiled again."""
    notes: list[str] = []
    session = Session(notes.append)
    (request,) = requests_near(f"{recording}:tuned", Configurations(), session)
    tuned = next(each for each in program.kernels if each.kernel == "tuned")
    assert f"BLOCK={request.settings['BLOCK']}" == tuned.configuration
    assert "starting from the fastest of 3 recorded configurations, by estimate" in notes
    several = requests_near(f"{recording}:tuned", Configurations(targets=("a100",)), session)
    assert len(several) == 3, "times of another GPU are not known yet"
    with pytest.raises(IrlensError, match="launches: neighbours belong to one") as raised:
        requests_near(str(recording), Configurations(), session)
    fastest: dict[str, float] = {}
    for each in load(recording):
        time = inspect(each).time
        us = (time.estimate_us if time is not None else None) or math.inf
        fastest[each.kernel] = min(us, fastest.get(each.kernel, math.inf))
    (named,) = load(Path((raised.value.hint or "").rpartition(": ")[2]))
    assert named.kernel == max(fastest, key=lambda each: fastest[each])


def test_what_a_gpu_timed_is_not_chosen_again(recording: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(recording, copy)
    index = msgspec.json.decode((copy / PROGRAM_NAME).read_bytes(), type=RecordedIndex)
    (ran,) = index.runs
    real = msgspec.structs.replace(ran, is_fake=False)
    (copy / PROGRAM_NAME).write_bytes(
        msgspec.json.encode(msgspec.structs.replace(index, runs=(real,)))
    )
    (found,) = program_runs(copy)
    tuned = next(each for each in found.kernels if each.kernel == "tuned")
    (launched,) = [each for each in ran.kernels if each.kernel == "tuned" and each.launches]
    assert (tuned.entry, tuned.choice) == (launched.entry, None)


def test_times_are_those_of_the_launches(program: ProgramRun) -> None:
    """Two arguments of 2^24 elements are read, one is written: 201 MB take 60 us at 3,350 GB/s."""
    add, tuned = (next(e for e in program.kernels if e.kernel == n) for n in ("add", "tuned"))
    assert add.total_us is not None
    assert tuned.total_us is not None
    assert 2 * 60 < add.total_us < 2 * 60 * 1.6
    assert add.each_us == pytest.approx(add.total_us / 5)
    assert program.total_us == pytest.approx(add.total_us + tuned.total_us)
    shares = [each.share or 0.0 for each in program.kernels]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    assert add.bound == "dram"


def test_library_calls_have_a_floor(program: ProgramRun, recording: Path) -> None:
    (product,) = program.library
    call = product.call
    assert (call.name, call.calls) == ("aten.mm", 2)
    assert call.operands == "bf16[512,256] × bf16[256,128]"
    assert call.source == line_of(recording, "# product")
    assert call.bytes == 2 * (512 * 256 + 256 * 128 + 512 * 128)
    assert call.flops == 2 * 512 * 256 * 128
    assert product.floor_us == pytest.approx(call.bytes / 3350e9 * 1e6, rel=0.01)
    assert program.others > 2  # what fills tensors, and the addition; a view is none


def test_the_table_says_it(program: ProgramRun) -> None:
    lines = write(program_view([program], View(width=100)), View(width=100)).splitlines()
    assert lines[1].startswith("9 launches of 2 kernels · about ")
    least = "2 library calls take at least "
    assert least in lines[1] or lines[2].startswith(least)
    assert any(line.endswith("2 candidates that autotuners only tried") for line in lines[:6])
    first = next(line for line in lines if line.startswith(program.kernels[0].kernel))
    assert first.split()[2] in ("4", "5")
    assert any(line.startswith("mm ") and "bf16[512,256]" in line for line in lines)


def test_an_index_is_not_trusted(recording: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(recording, copy)
    index = msgspec.json.decode((copy / PROGRAM_NAME).read_bytes(), type=RecordedIndex)
    (ran,) = index.runs
    elsewhere = msgspec.structs.replace(ran.kernels[0], entry=f"../{recording.name}")
    gone = msgspec.structs.replace(
        index, runs=(msgspec.structs.replace(ran, kernels=(elsewhere,)),)
    )
    (copy / PROGRAM_NAME).write_bytes(msgspec.json.encode(gone))
    (found,) = program_runs(copy)
    (kernel,) = found.kernels
    assert (kernel.total_us, kernel.reason) == (None, "its capture cannot be read")
    assert found.total_us is None
    (copy / PROGRAM_NAME).write_bytes(b"{")
    assert is_recording(copy)
    with pytest.raises(ArtifactError):
        program_runs(copy)


VARIED = """
@triton.jit
def ragged(x, starts, lengths, out, limit, BLOCK: tl.constexpr):
    first, length = tl.load(starts + tl.program_id(0)), tl.load(lengths + tl.program_id(0))
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, length, BLOCK):
        inside = at + tl.arange(0, BLOCK)
        total += tl.minimum(tl.load(x + first + inside, inside < length, other=0.0), limit)
    tl.store(out + tl.program_id(0), tl.sum(total))

lengths = torch.tensor([1000, 20000, 300, 70000] * 64, device="cuda", dtype=torch.int32)
starts = torch.cumsum(lengths, 0).to(torch.int32) - lengths
x = torch.randn(int(lengths.sum()), device="cuda")
found = torch.zeros(256, device="cuda", dtype=torch.int32)
ragged[(256,)](x, starts, lengths, torch.empty(256, device="cuda"), float("inf"), BLOCK=1024)
ragged[(256,)](x, starts, lengths, found, float("-inf"), BLOCK=1024)
"""


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("varied")
    (ran,) = run(folder, VARIED).runs
    assert ran.code == 0
    return folder / "kept"


def test_what_lengths_hold_is_kept_and_gives_the_time_of_loops_over_them(varied: Path) -> None:
    first, second = (each for each in load(varied) if isinstance(each, Capture))
    held = {name: npy.read(stage).tolist() for name, stage in first.contents.items()}
    lengths = [1000, 20000, 300, 70000] * 64
    assert held == {"lengths": lengths, "starts": [0, *accumulate(lengths)][:-1]}
    assert set(second.contents) == {"lengths", "starts"}, "what the kernel writes is not kept"
    report = inspect(first)
    assert report.traffic is not None
    assert report.time is not None
    assert report.traffic.read_bytes == 4 * (sum(lengths) + 2 * 256)
    assert report.time.estimate_us is not None
    bare = inspect(msgspec.structs.replace(first, contents={}))
    assert "lengths=@FILE.npy" in bare.unknown["traffic"]
    assert bare.time is None or bare.time.estimate_us is None
    other = inspect(with_launch(first, Launch(args={"lengths": "int32[256]"})))
    assert other.time is None or other.time.estimate_us is None


def test_numbers_that_are_not_finite_are_kept(varied: Path) -> None:
    captures = [each for each in load(varied) if isinstance(each, Capture)]
    assert [each.config.args["limit"] for each in captures] == ["inf", "-inf"]
    assert captures[0].config.numbers()["limit"] == math.inf
    (ran,) = program_runs(varied)
    assert sum(each.launches or 0 for each in ran.kernels) == 2
    assert ran.total_us


def test_a_recording_with_lengths_is_compiled_again_with_them(varied: Path) -> None:
    first = next(each for each in load(varied) if isinstance(each, Capture))
    request = request_of(first, source_of(first, None) or "", {"BLOCK": "512"})
    again = compile_request.capture(request)[0]
    assert set(again.contents) == {"lengths", "starts"}
    report = inspect(again)
    assert report.time is not None
    assert report.time.estimate_us is not None


def test_what_tensors_hold_is_left_out_on_request(tmp_path: Path) -> None:
    (ran,) = run(tmp_path, VARIED, Options(contents=False)).runs
    assert ran.code == 0
    assert not any(each.contents for each in load(tmp_path / "kept") if isinstance(each, Capture))


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("AAAA", "contents of lengths is no .npy file"),
        ("?", "irlens.json is broken"),
        (5, "broken"),
    ],
)
def test_contents_that_are_none_are_told_in_a_line(
    varied: Path, tmp_path: Path, held: object, told: str
) -> None:
    entry = next(each for each in sorted(varied.iterdir()) if each.is_dir())
    copy = Path(shutil.copytree(entry, tmp_path / entry.name))
    manifest = json.loads((copy / "irlens.json").read_text())
    manifest["contents"] = {"lengths": held}
    (copy / "irlens.json").write_text(json.dumps(manifest))
    ended = irlens("inspect", str(copy))
    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err
