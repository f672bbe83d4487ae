"""Programs are run, and what they compile is kept: held against what a capture is."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from packaging.version import Version

import irlens
from irlens import gpus as arch
from irlens.artifacts.load import load
from irlens.compiler import Request, capture
from irlens.compiler.calls.argument_values import parse_argument
from irlens.compiler.toolchains import triton_version
from irlens.model.capture import Capture
from irlens.model.config import GridFormula
from irlens.model.report import Occupancy
from irlens.programs import Program, Recording, record
from irlens.programs.job import Options
from irlens.report.inspection import Inspection

HEAD = """
import sys
import triton, triton.language as tl

@triton.jit
def scale(n, BLOCK: tl.constexpr):
    if tl.program_id(0) > n:
        tl.device_print("no", n * BLOCK)
"""
TORCH = """
import torch

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

def added(x, y, BLOCK=256):
    out = torch.empty_like(x)
    add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK)
    return out
"""
H100 = arch.find("h100")

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


class Recorder:
    """Runs programs that are given as text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "kept"

    def write(self, text: str, name: str = "program.py") -> Path:
        script = self.folder / name
        script.write_text(HEAD + textwrap.dedent(text))
        return script

    def run(
        self,
        text: str,
        *arguments: str,
        gpus: tuple[str, ...] = ("h100",),
        options: Options | None = None,
    ) -> Recording:
        program = Program(name=str(self.write(text)), is_module=False, arguments=arguments)
        named = [arch.find(name) for name in gpus]
        return record(program, self.place, named, fake=True, options=options or Options())

    def kept(self) -> list[Capture]:
        if not self.place.exists():
            return []
        found = list(load(self.place))
        assert all(isinstance(each, Capture) for each in found)
        return [each for each in found if isinstance(each, Capture)]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def code(recording: Recording) -> int:
    (run,) = recording.runs
    return run.code


def occupancy_of(capture: Capture) -> Occupancy:
    occupancy = Inspection(capture).occupancy
    assert occupancy is not None
    return occupancy


@pytest.mark.starts
def test_a_launch_is_kept_with_all_that_is_known_of_it(recorder: Recorder) -> None:
    recording = recorder.run("scale[lambda meta: (7, meta['BLOCK'])](5, BLOCK=32, num_warps=2)")
    assert (code(recording), recording.variants) == (0, {"scale": 1})
    (capture,) = recorder.kept()
    assert capture.target == H100.target
    assert capture.config.args == {"n": 5}
    assert capture.config.constexprs == {"BLOCK": 32}
    assert capture.config.grid == (7, 32, 1)
    assert capture.config.num_warps == 2
    assert capture.manifest is not None
    assert capture.manifest.grid_formula == GridFormula((7, "BLOCK"), {})
    assert capture.metadata is not None
    assert capture.manifest.triton_version == capture.metadata.triton_version
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= capture.stages.keys()
    assert capture.python_files == ("program.py",)
    assert Inspection(capture).resources.registers


def test_each_variant_is_kept_once_in_the_order_of_the_launches(recorder: Recorder) -> None:
    recorder.run("for block in (64, 32, 64, 128, 32): scale[(1,)](5, BLOCK=block)")
    assert [capture.config.constexprs["BLOCK"] for capture in recorder.kept()] == [64, 32, 128]


def test_each_gpu_has_a_run_of_its_own(recorder: Recorder) -> None:
    recorder.run("scale[(1,)](5, BLOCK=32)", gpus=("a100", "mi300x"))
    kept = [capture.target.product for capture in recorder.kept() if capture.target]
    assert kept == ["a100", "mi300x"]


def test_what_is_only_compiled_ahead_has_no_grid_until_it_is_launched(recorder: Recorder) -> None:
    recorder.run("scale.warmup(5, BLOCK=32, grid=(3,))")
    (capture,) = recorder.kept()
    assert capture.config.grid is None
    recorder.run("scale.warmup(5, BLOCK=32, grid=(3,)); scale[(4,)](5, BLOCK=32)")
    (capture,) = recorder.kept()
    assert capture.config.grid == (4, 1, 1)


def test_what_was_compiled_ahead_may_be_launched_by_itself(recorder: Recorder) -> None:
    """As Triton's tutorial on softmax does it."""
    recorder.run("scale.warmup(5, BLOCK=32, grid=(1,))[(6, 1, 1)](7, 32)")
    (capture,) = recorder.kept()
    assert capture.config.args == {"n": 7}
    assert capture.config.constexprs == {"BLOCK": 32}
    assert capture.config.grid == (6, 1, 1)


def test_a_launch_that_fails_tells_nothing_of_other_variants(recorder: Recorder) -> None:
    """What has been compiled ahead has not been launched with the arguments of the failure."""
    recorder.run(
        """
        scale.warmup(5, BLOCK=32, grid=(3,))
        for grid, given in (((1,), {"BLOCK": "no"}), ((), {"BLOCK": 64}), ((1.5,), {"BLOCK": 128})):
            try:
                scale[grid](7, **given)
            except Exception as error:
                print(type(error))
        """
    )
    kept = [
        (capture.config.constexprs["BLOCK"], capture.config.args["n"], capture.config.grid)
        for capture in recorder.kept()
    ]
    assert kept == [(32, 5, None), (64, 7, None), (128, 7, None)]


@pytest.mark.starts
def test_a_program_runs_as_python_would_run_it(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (recorder.folder / "beside.py").write_text("VALUE = 3\n")
    recorder.write(
        """
        import atexit, os, pathlib, beside
        here = pathlib.Path(__file__)
        assert here.is_absolute() and __loader__.path == __file__ and __spec__ is None
        assert __name__ == "__main__" and sys.modules["__main__"].beside is beside
        assert sys.argv == ["program.py", "--flag", "value"], sys.argv
        assert sys.path[0] == str(here.parent), sys.path
        assert os.environ.get("PYTHONPATH") == os.environ.get("EXPECTED")
        atexit.register(lambda: here.with_name("left").write_text(str(beside.VALUE)))
        scale[(1,)](5, BLOCK=32)
        """
    )
    if "PYTHONPATH" in os.environ:
        monkeypatch.setenv("EXPECTED", os.environ["PYTHONPATH"])
    monkeypatch.chdir(recorder.folder)
    program = Program(name="program.py", is_module=False, arguments=("--flag", "value"))
    recording = record(program, recorder.place, [H100], fake=True)
    assert code(recording) == 0
    assert (recorder.folder / "left").read_text() == "3"


@pytest.mark.starts
def test_python_processes_that_a_program_starts_are_followed(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = recorder.folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import os\nos.environ['CUSTOMIZED'] = 'yes'\n")
    monkeypatch.setenv("PYTHONPATH", str(own))
    recording = recorder.run(
        """
        import multiprocessing, os, subprocess

        def work(block):
            assert os.environ["PYTHONPATH"] == PATH and "IRLENS_FOLLOW" not in os.environ
            assert block == 64 or os.environ["CUSTOMIZED"] == "yes"  # 64 is forked
            scale[(1,)](5, BLOCK=block)

        PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own")
        if sys.argv[1:]:
            work(int(sys.argv[1]))
        elif __name__ == "__main__":
            subprocess.run(["true"], check=True)
            subprocess.run([sys.executable, __file__, "16"], check=True)
            subprocess.run(f"{sys.executable} {__file__} 32", shell=True, check=True)
            for block, how in enumerate(("fork", "spawn", "forkserver"), 6):
                child = multiprocessing.get_context(how).Process(target=work, args=(1 << block,))
                child.start()
                child.join()
                assert child.exitcode == 0, how
            # Without its environment nobody tells it.
            subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        """
    )
    (run,) = recording.runs
    assert (run.code, run.deviations.blind) == (0, 1)
    blocks = [capture.config.constexprs["BLOCK"] for capture in recorder.kept()]
    assert blocks == [16, 32, 64, 128, 256]


@pytest.mark.starts
@needs_torch
def test_deviations_of_other_processes_are_counted(recorder: Recorder) -> None:
    recording = recorder.run(
        TORCH
        + """
import multiprocessing

def work():
    x = torch.ones(8, device="cuda")
    assert torch.equal(added(x, x), x)

if __name__ == "__main__":
    work()
    for how in ("fork", "spawn"):
        child = multiprocessing.get_context(how).Process(target=work)
        child.start()
        child.join()
"""
    )
    (run,) = recording.runs
    assert (run.code, run.deviations.compared, run.deviations.blind) == (0, 3, 0)


@pytest.mark.starts
@needs_torch
def test_torchdynamo_is_imported_by_what_compiles_alone(recorder: Recorder) -> None:
    """PyTorch would import it for its first tensor, which takes as long as importing PyTorch."""
    recording = recorder.run(
        TORCH
        + """
x = torch.ones(8, device="cuda")
added(x, x)
assert "torch._dynamo" not in sys.modules
"""
    )
    assert code(recording) == 0
    assert len(recorder.kept()) == 1


@pytest.mark.starts
@needs_torch
def test_tests_that_are_spread_over_processes_are_recorded(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = "".join(
        f"def test_{block}():\n    x = torch.ones(8, device='cuda')\n    added(x, x, {block})\n"
        for block in (16, 32)
    )
    recorder.write(TORCH + tests, "test_it.py")
    monkeypatch.chdir(recorder.folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the others take half of the time
    arguments = ("-q", "-n", "2", "-p", "xdist", "-p", "no:cacheprovider", "test_it.py")
    program = Program(name="pytest", is_module=True, arguments=arguments)
    recording = record(program, recorder.place, [H100], fake=True)
    (run,) = recording.runs
    assert (run.code, run.deviations.blind) == (0, 0)
    blocks = {capture.config.constexprs["BLOCK"] for capture in recorder.kept()}
    assert blocks == {16, 32}


@pytest.mark.starts
def test_a_module_runs_as_python_would_run_it(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = recorder.folder / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    recorder.write("from . import other\nscale[(other.N,)](5, BLOCK=32)", "package/main.py")
    (package / "other.py").write_text("N = 2\n")
    monkeypatch.chdir(recorder.folder)
    program = Program(name="package.main", is_module=True)
    recording = record(program, recorder.place, [H100], fake=True)
    assert code(recording) == 0
    (capture,) = recorder.kept()
    assert capture.config.grid == (2, 1, 1)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("sys.exit(3)", 3),
        ("raise ValueError('x')", 1),
        ("import os; os._exit(5)", 5),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_however_it_ends_what_was_compiled_is_kept(
    recorder: Recorder, ending: str, expected: int
) -> None:
    recording = recorder.run(f"scale[(1,)](5, BLOCK=32)\n{ending}")
    assert code(recording) == expected
    assert recording.variants == {"scale": 1}
    assert len(recorder.kept()) == 1


@pytest.mark.starts
def test_an_exception_is_shown_as_python_shows_it(
    recorder: Recorder, capfd: pytest.CaptureFixture[str]
) -> None:
    recorder.run("def f():\n    raise ValueError('x')\nf()")
    told = capfd.readouterr().err
    alone = subprocess.run(
        [sys.executable, str(recorder.folder / "program.py")], capture_output=True, text=True
    ).stderr
    assert told == alone


def test_nothing_compiled_leaves_nothing(recorder: Recorder) -> None:
    recording = recorder.run("print('nothing')")
    assert (code(recording), recording.variants) == (0, {})
    assert [path.name for path in recorder.folder.iterdir()] == ["program.py"]


@pytest.mark.starts
def test_a_cache_of_the_users_own_is_neither_asked_nor_changed(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = recorder.folder / "own"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(own))
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
    recorder.run("scale[(1,)](5, BLOCK=32)")
    assert len(recorder.kept()) == 1
    assert not own.exists()


def test_a_cache_that_the_program_chooses_is_read_and_left_as_it_is(recorder: Recorder) -> None:
    own = recorder.folder / "own"
    choose = f"import os; os.environ['TRITON_CACHE_DIR'] = {str(own)!r}\n"
    recorder.run(f"{choose}scale[(1,)](5, BLOCK=32)")
    (capture,) = recorder.kept()
    assert capture.config.args == {"n": 5}
    assert [each.kernel for each in load(own) if isinstance(each, Capture)] == ["scale"]


def test_the_compiler_is_only_hashed_for_a_cache_that_the_program_chooses(
    recorder: Recorder,
) -> None:
    keys = recorder.folder / "keys"
    recorder.run(
        f"""
        import os, pathlib
        from triton.compiler import compiler
        from triton.runtime import cache
        place = cache if hasattr(cache, "triton_key") else compiler  # 3.4 has it in the latter
        keys = [place.triton_key()]
        os.environ["TRITON_CACHE_DIR"] = {str(recorder.folder / "own")!r}
        keys.append(place.triton_key())
        pathlib.Path({str(keys)!r}).write_text("\\n".join(keys))
        """
    )
    private, shared = keys.read_text().split("\n")
    assert private == triton_version()
    assert len(shared) > 64  # the hashes of its files


@needs_torch
def test_the_code_is_what_a_capture_of_the_kernel_has(recorder: Recorder) -> None:
    """The same kernel with the same arguments, launched by a program, and described to irlens."""
    path = Path(__file__).parents[2] / "kernels" / "softmax.py"
    recorder.run(
        f"""
        import importlib.util, torch
        spec = importlib.util.spec_from_file_location("_irlens_softmax", {str(path)!r})
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        x = torch.randn(4096, 1024, device="cuda")
        module.softmax_kernel[(1056,)](
            torch.empty_like(x), x, x.stride(0), x.stride(0), 4096, 1024,
            BLOCK_SIZE=1024, num_stages=4, num_warps=8,
        )
        """
    )
    (kept,) = recorder.kept()
    captured = irlens.capture(f"{path}:softmax_kernel", target="h100", num_stages=4)
    assert kept.stages["ptx"].text() == captured.stages["ptx"].text()
    assert kept.config == replace(captured.config, grid=(1056, 1, 1))  # which a file may compute
    assert Inspection(kept).resources == Inspection(captured).resources


@pytest.mark.starts
@needs_torch
def test_a_program_sees_the_gpu_that_it_is_told(
    recorder: Recorder, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = recorder.run(
        TORCH
        + """
active = triton.runtime.driver.active
device = active.get_active_torch_device()
assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
assert active.utils.get_device_properties(device.index)["multiprocessor_count"] == 132
x = torch.rand(1000, device="cuda")
layer = torch.nn.Linear(1000, 16).to(device)
for tensor in (x, x.cpu().cuda(), x[1:], torch.ones(3).to("cuda:0"), layer(x), x.to(torch.half)):
    assert tensor.is_cuda and not tensor.is_meta and tensor.device == device, tensor
assert not torch.ones(3).is_cuda and torch.ones(3).sum().item() == 3
assert x.to(torch.half).dtype == torch.half
assert x.to(torch.ones(1, dtype=torch.int8)).dtype == torch.int8
torch.cuda.synchronize()
assert torch.allclose(added(x, x), x + x) and torch.equal(x, x)
torch.testing.assert_close(added(x[1:], x[1:]), x[1:])
triton.testing.assert_close(x, x)
assert not torch.allclose(torch.ones(1000), x.cpu())
assert not torch.equal(torch.ones(3), torch.zeros(3))
handle = add.warmup(x, x, x, 1000, BLOCK=256, grid=(1,))
handle._init_handles()
print(handle.n_regs, handle.n_spills)
"""
    )
    (run,) = recording.runs
    assert (run.code, run.deviations.compared, run.stopped) == (0, 2, None)
    aligned, shifted = recorder.kept()
    held = Inspection(aligned).resources
    assert capfd.readouterr().out.split() == [str(held.registers), str(held.local_bytes)]
    assert aligned.config.args == {
        "x": "fp32[1000]",
        "y": "fp32[1000]",
        "out": "fp32[1000]",
        "n": 1000,
    }
    assert "ld.global.v4" not in shifted.stages["ptx"].text()  # x[1:] is not aligned to 16 bytes


@needs_torch
def test_views_with_gaps_say_their_strides(recorder: Recorder) -> None:
    """Not the transposed one: its elements fill the same bytes, in another order."""
    recording = recorder.run(
        TORCH
        + """
x = torch.zeros(64, 32, device="cuda")
add[(1,)](x[:, :8], x.t(), x[:1].expand(64, 32), 8, BLOCK=64)
"""
    )
    assert code(recording) == 0
    (capture,) = recorder.kept()
    assert capture.config.args == {
        "x": "fp32[64, 8]:strides[32, 1]",
        "y": "fp32[32, 64]",
        "out": "fp32[64, 32]:strides[0, 1]",
        "n": 8,
    }
    traffic = Inspection(capture).traffic
    assert traffic is not None
    assert traffic.read_bytes == 2 * 8 * 4
    assert str(parse_argument(str(capture.config.args["x"]), {}, "x")) == "fp32[64, 8]"


@needs_torch
def test_autotuners_try_everything_and_take_the_first_that_fits(recorder: Recorder) -> None:
    recording = recorder.run(
        """
        import torch
        configs = [triton.Config({"STAGES": stages}, num_warps=8) for stages in (9, 2, 1)]

        @triton.autotune(configs, key=["n"])
        @triton.jit
        def exp(x, out, n, STAGES: tl.constexpr):
            at = tl.arange(0, 8192)
            for row in tl.range(tl.program_id(0), n, 100, num_stages=STAGES):
                tl.store(out + row * 8192 + at, tl.exp(tl.load(x + row * 8192 + at)))

        x = torch.empty(1000, 8192, device="cuda")
        exp[(100,)](x, x, 1000)
        assert exp.best_config.kwargs == {"STAGES": 2}, exp.best_config
        """
    )
    assert code(recording) == 0
    kept = recorder.kept()
    assert [capture.config.constexprs["STAGES"] for capture in kept] == [9, 2, 1]
    # Eight buffers of 32 KiB are more than the 227 KiB that a CTA may have.
    assert [occupancy_of(capture).launchable for capture in kept] == [False, True, True]


@needs_torch
def test_a_program_that_needs_a_value_stops_at_its_line(recorder: Recorder) -> None:
    asks = "x = torch.rand(8, device='cuda')\ny = added(x, x)\n[1][y.sum().int()]\nprint('no')\n"
    recording = recorder.run(f"{TORCH}\n{asks}")
    (run,) = recording.runs
    before_last = len((recorder.folder / "program.py").read_text().splitlines()) - 1
    assert run.code == 1
    assert run.stopped is not None
    place = f"{recorder.folder}/program.py:{before_last}"
    reason = "which only the kernel add computes"
    assert run.stopped == f"{place}: torch.Tensor.__index__ needs values, {reason}"
    assert recording.variants == {"add": 1}


@needs_torch
def test_what_needs_a_value_says_so(recorder: Recorder, capfd: pytest.CaptureFixture[str]) -> None:
    asks = {
        "bool(x.sum() > 0)": "torch.Tensor.__bool__",
        "x.cpu().numpy()": "torch.Tensor.numpy",
        "x[x > 0]": "aten.index.Tensor",
        "x.cpu() + torch.ones(8)": "aten.add.Tensor",
        "torch.cuda.get_device_properties(0).L2_cache_size": "L2_cache_size",
        "triton.testing.get_dram_gbps(0)": "the program asks for mem_clock_rate",
    }
    recorder.run(
        f"""{TORCH}
x = torch.rand(8, device="cuda")
x = added(x, x)
for ask in {list(asks)}:
    try:
        eval(ask)
    except Exception as error:
        print(error)
"""
    )
    told = capfd.readouterr().out.splitlines()
    assert [line.startswith(what) for line, what in zip(told, asks.values(), strict=True)] == (
        [True] * len(asks)
    ), told


@needs_torch
def test_a_backward_of_the_programs_own_sees_the_gpu_too(recorder: Recorder) -> None:
    recording = recorder.run(
        TORCH
        + """
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return added(x, x)
    @staticmethod
    def backward(ctx, gradient):
        assert gradient.is_cuda
        return added(gradient, gradient, BLOCK=64)

x = torch.rand(512, device="cuda", requires_grad=True)
Doubled.apply(x * 2).sum().backward()
assert x.grad.shape == (512,)
"""
    )
    assert code(recording) == 0
    assert [capture.config.constexprs["BLOCK"] for capture in recorder.kept()] == [256, 64]


@needs_torch
def test_all_of_a_program_sees_the_gpu(recorder: Recorder) -> None:
    """Hooks, what checkpoints repeat, threads, operators, what has another default device."""
    recording = recorder.run(
        TORCH
        + """
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from torch.utils.checkpoint import checkpoint

def launched(like, BLOCK):
    assert like.is_cuda
    return added(like, torch.ones(like.shape, device="cuda"), BLOCK)

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return launched(gradient, 16)

x = torch.rand(512, device="cuda", requires_grad=True)
y = Twice.apply(x) + checkpoint(lambda x: Twice.apply(x), x, use_reentrant=False)
y.register_hook(lambda gradient: launched(gradient, 32))
y.sum().backward()
torch.autograd.grad(Twice.apply(x).sum(), x)

thread = Thread(target=lambda: launched(torch.rand(8, device="cuda"), 64))
thread.start(); thread.join()
with ThreadPoolExecutor(1) as pool:
    assert pool.submit(lambda: launched(torch.rand(8, device="cuda"), 128)).result().is_cuda

@torch.library.custom_op("irlens_test::own", mutates_args=())
def own(x: torch.Tensor) -> torch.Tensor:
    return launched(x, 256)

@own.register_fake
def _(x):
    return torch.empty_like(x)

@torch.library.custom_op("irlens_test::cuda", mutates_args=(), device_types="cuda")
def cuda(x: torch.Tensor) -> torch.Tensor:
    return launched(own(x), 512)

cuda.register_kernel("cpu")(lambda x: x + 1)
assert cuda(x.detach()).shape == (512,) and cuda(torch.ones(1)).item() == 2

torch.set_default_device("cuda")
assert torch.ones(3).is_cuda and torch.get_default_device().type == "cuda"
torch.set_default_device("cpu")
assert not torch.ones(3).is_cuda
with torch.device("cuda"):
    assert torch.nn.Linear(3, 3).weight.is_cuda
"""
    )
    assert code(recording) == 0
    blocks = [capture.config.constexprs["BLOCK"] for capture in recorder.kept()]
    assert blocks == [32, 16, 64, 128, 256, 512]


@needs_torch
def test_the_runtime_does_what_there_is_to_do_and_makes_nothing_up(recorder: Recorder) -> None:
    recording = recorder.run(
        TORCH
        + """
x = torch.rand(8, device=0, generator=torch.Generator("cuda").manual_seed(1))
assert x.is_cuda and torch.ones(3).to(0).is_cuda and torch.nn.Linear(3, 3).cuda(0).weight.is_cuda
assert torch.empty(3, pin_memory=True).to("cuda", non_blocking=True).is_cuda
assert torch.Generator().device.type == "cpu"
with torch.cuda.stream(torch.cuda.Stream()), torch.random.fork_rng():
    x.record_stream(torch.cuda.current_stream())
assert torch.version.cuda[0] == "1" and torch.version.cuda.split(".")[1].isdigit()
torch.manual_seed(5)
generator = torch.cuda.default_generators[torch.cuda.current_device()]
seed, offset = state = generator.get_state().view(torch.int64)
assert (seed, offset) == (5, 0) and torch.cuda.initial_seed() == 5
state[:] = torch.tensor([-7, 8])
generator.set_state(state.view(torch.uint8))
assert torch.cuda.get_rng_state().view(torch.int64).tolist() == [-7, 8]
assert torch.cuda.initial_seed() == 2**64 - 7
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    added(x, x)
graph.replay()
torch.cuda.reset_peak_memory_stats()
torch.cuda.nvtx.range_push("x")
assert torch.accelerator.current_accelerator().type == "cuda"
assert str(x) == f"{x}" == "tensor(..., device='cuda:0', size=(8,))", str(x)
assert torch.empty(1 << 45, device="cuda").numel() == 1 << 45
assert not hasattr(torch.cuda.get_device_properties(0), "clock_rate")
compiled = torch.compile(dynamic=True)(lambda x: added(x, x, 64))
assert compiled(x).is_cuda and compiled(x).is_cuda
try:
    torch.cuda.memory_snapshot()
except RuntimeError as error:
    assert "is not known without the GPU" in str(error)

class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        raise NotImplementedError("mine")

try:
    Once.apply(x.requires_grad_()).sum().backward()
except NotImplementedError as error:
    assert str(error) == "mine"
else:
    raise AssertionError
"""
    )
    (run,) = recording.runs
    assert (run.code, run.deviations.uncompiled, run.stopped) == (0, 0, None)
    assert [capture.config.constexprs["BLOCK"] for capture in recorder.kept()] == [256, 64]


@needs_torch
def test_autocasting_casts_as_on_the_gpu(recorder: Recorder) -> None:
    """By the lists of PyTorch's documentation, "CUDA Op-Specific Behavior"."""
    recording = recorder.run(
        TORCH
        + """
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

x = torch.randn(8, 16, device="cuda")
half = x.half()
layer = torch.nn.Linear(16, 16).cuda()
with torch.autocast("cuda"):
    lower = (x @ x.T, layer(x), x[None] @ x.T[None], torch.einsum("ij,kj->ik", x, x))
    assert all(each.dtype == torch.half for each in lower)
    heads = torch.randn(1, 2, 8, 16, device="cuda")
    assert F.scaled_dot_product_attention(heads, heads, heads).dtype == torch.half
    single = (half.softmax(-1), half.sum(), half.exp(), half.norm(), half ** 2, half.cumsum(0))
    assert all(each.dtype == torch.float for each in single)
    assert F.layer_norm(half, (16,)).dtype == F.mse_loss(half, half).dtype == torch.float
    assert torch.addcmul(half, x, half).dtype == torch.float  # the widest of those given
    kept = (half.relu(), F.gelu(half), half.sum(dtype=torch.half), added(half, half))
    assert all(each.dtype == torch.half for each in kept)
    assert (x.double() @ x.double().T).dtype == torch.double
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float  # on the CPU
    with torch.autocast("cuda", enabled=False):
        assert layer(x).dtype == torch.float
    with torch.autocast("cuda", torch.bfloat16):
        again = checkpoint(layer, x, use_reentrant=False)
        assert again.dtype == torch.bfloat16
    assert layer(x).dtype == torch.half
    try:
        torch.nn.LSTM(16, 16).cuda()(x)
    except RuntimeError as error:
        assert "is not known without the GPU" in str(error)
    else:
        raise AssertionError
assert layer(x).dtype == torch.float
(lower[1].float().sum() + again.float().sum()).backward()
assert layer.weight.grad.dtype == torch.float
"""
    )
    assert code(recording) == 0
    (capture,) = recorder.kept()
    assert capture.config.args["x"] == "fp16[8, 16]"


@needs_torch
def test_a_launch_does_what_tritons_does_but_for_the_launch(recorder: Recorder) -> None:
    """Memory that it cannot reach is refused, hooks are called, scratch memory is asked for."""
    recording = recorder.run(
        TORCH
        + """
from triton import knobs

ones = torch.ones(8)
try:
    added(ones, ones)
except ValueError as error:
    assert "(at 0) cannot be accessed from Triton" in str(error), error
else:
    raise AssertionError
pinned = ones.pin_memory()
assert pinned.is_pinned() and torch.empty(8, pin_memory=True)[1:].is_pinned()
assert not torch.ones(8).is_pinned()
add[(1,)](pinned, pinned, pinned, 8, 64)

told = []
for hook in ("launch_enter_hook", "launch_exit_hook"):
    was = getattr(knobs.runtime, hook)
    note = lambda metadata: told.append(metadata.get()["name"])
    was.add(note) if hasattr(was, "add") else setattr(knobs.runtime, hook, note)
x = torch.ones(8, device="cuda")
added(x, x, BLOCK=128)
assert told == ["add", "add"], told
assert x.type() == "torch.cuda.FloatTensor" and x.type(torch.half).dtype == torch.half

@triton.jit
def described(x, BLOCK: tl.constexpr):
    square = tl.make_tensor_descriptor(x, [64, 64], [64, 1], [BLOCK, BLOCK])
    square.store([0, 0], square.load([0, 0]) * 2)

x = torch.ones(64, 64, device="cuda")
try:
    described[(1,)](x, 32)
except RuntimeError as error:
    assert "allocator" in str(error), error
else:
    raise AssertionError
asked = []
triton.set_allocator(
    lambda size, alignment, stream: asked.append(size) or torch.empty(size, device="cuda")
)
described[(3,)](x, 32)
assert asked and asked[0] % 3 == 0, asked
add.warmup(torch.float16, torch.float16, torch.float16, 8, BLOCK=32, grid=(1,))
"""
    )
    assert code(recording) == 0
    (ahead,) = (each for each in recorder.kept() if each.config.grid is None)
    assert ahead.config.args == {"x": "*fp16", "y": "*fp16", "out": "*fp16", "n": 8}


@needs_torch
def test_time_is_no_number_and_takes_none(recorder: Recorder) -> None:
    recording = recorder.run(
        TORCH
        + """
import math
x = torch.rand(512, device="cuda")
calls = []
ms = triton.testing.do_bench(lambda: calls.append(added(x, x)))
assert f"{512 * 4 / ms * 1e-6:.1f} GB/s" == "<unknown float> GB/s"
assert math.isnan(float(ms))
assert len(calls) == 1
ms = triton.testing.do_bench(lambda: added(x, x), quantiles=[0.5])
assert str(ms) == "<unknown float>"
assert len(triton.testing.do_bench(lambda: added(x, x), quantiles=[0.5, 0.2])) == 2
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record(); end.record()
assert str(begin.elapsed_time(end)) == "<unknown float>"
"""
    )
    assert code(recording) == 0
    (ran,) = recording.runs
    assert ran.deviations.timed == 5


@needs_torch
def test_a_time_that_decides_stops_the_program_unless_it_is_assumed(recorder: Recorder) -> None:
    program = (
        TORCH
        + """
x = torch.rand(512, device="cuda")
times = {name: triton.testing.do_bench(lambda: added(x, x)) for name in "ab"}
print(min(times.values()))
"""
    )
    (stopped,) = recorder.run(program).runs
    assert stopped.stopped
    assert "a comparison" in stopped.stopped
    (ran,) = recorder.run(program, options=Options(assumed=0.0)).runs
    assert (ran.code, ran.stopped) == (0, None)


@pytest.mark.parametrize(
    ("send", "number", "expected"),
    [
        (os.killpg, signal.SIGINT, "KeyboardInterrupt"),  # as a terminal does
        (os.kill, signal.SIGTERM, "the program died of signal 15"),
    ],
)
def test_what_ends_irlens_ends_the_program_and_what_it_compiled_is_kept(
    tmp_path: Path, send: Callable[[int, int], None], number: int, expected: str
) -> None:
    script = Recorder(tmp_path).write(
        "import time\nscale[(1,)](5, BLOCK=32)\nprint('ready', flush=True)\ntime.sleep(900)"
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "irlens", "record", "-t", "h100", "-o", "kept", str(script)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        text=True,
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    send(running.pid, number)
    _, told = running.communicate()
    assert running.returncode == 2, told
    assert expected in told
    assert [each.kernel for each in load(tmp_path / "kept") if isinstance(each, Capture)] == [
        "scale"
    ]


@pytest.mark.starts
def test_what_is_sent_while_the_program_is_started_reaches_it(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = subprocess.Popen.__init__

    def interrupted(self: "subprocess.Popen[bytes]", *arguments: Any, **options: Any) -> None:
        start(self, *arguments, **options)
        monkeypatch.undo()
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted)
    recording = recorder.run("import time\ntime.sleep(900)")
    assert code(recording) == -signal.SIGTERM


@needs_torch
def test_what_a_program_gives_a_kernel_in_gluon_asks_irlens_for_the_same(
    recorder: Recorder,
) -> None:
    kernels = Path(__file__).parents[1] / "data" / "gluon" / "copying.py"
    recording = recorder.run(f"""
        sys.path.insert(0, {str(kernels.parent)!r})
        import copying, torch
        from triton.experimental.gluon import language as gl
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        tensor = torch.empty(64, 64, device="cuda")
        layout = gl.NVMMASharedLayout(32, 32, 2)
        copying.scale[(1,)](TensorDescriptor.from_tensor(tensor, [64, 32], layout), tensor)
        flat = tensor.view(-1)
        copying.copy[(1,)](flat, flat, 128, gl.BlockedLayout([1], [32], [4], [0]))
    """)
    assert (code(recording), recording.variants) == (0, {"scale": 1, "copy": 1})
    for kept in recorder.kept():
        settings, args = kept.config.constexprs, kept.config.args
        request = Request(
            kernel=f"{kernels}:{kept.kernel}", target=H100.target, settings=settings, args={**args}
        )
        (same,) = capture(request)
        assert same.config.constexprs == settings
        assert same.config.args == args
        assert same.stages["cubin"].read() == kept.stages["cubin"].read()


@pytest.mark.starts
@needs_torch
def test_a_program_may_first_look_whether_pytorch_is_installed(recorder: Recorder) -> None:
    recording = recorder.run(
        """
        from importlib.util import find_spec
        assert find_spec("torch")
        import torch
        scale[(1,)](torch.empty(5, device="cuda").numel(), BLOCK=32)
        """
    )
    assert (code(recording), recording.variants) == (0, {"scale": 1})


@pytest.mark.skipif(Version(triton_version()) < Version("3.9"), reason="Triton accepts the key")
def test_an_autotuner_that_this_triton_refuses_names_one_that_accepts_it(
    recorder: Recorder,
) -> None:
    recording = recorder.run(
        """
        try:
            triton.autotune([triton.Config({"BLOCK": 32})], key=["missing"])(scale)
        except ValueError:
            scale[(1,)](5, BLOCK=32)
        """
    )
    (failure,) = recording.failures
    assert failure.kernel == "scale"
    assert "--triton 3.8.0" in failure.message


@pytest.mark.starts
@needs_torch
def test_pytest_may_rewrite_every_module(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import hook then takes PyTorch too."""
    monkeypatch.chdir(recorder.folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    text = """
        def test_scale():
            import torch
            scale[(1,)](torch.empty(5, device="cuda").numel(), BLOCK=32)
    """
    recorder.write(text, "tests.py")
    # Rewriting all of PyTorch takes half a minute: here what has hooks, or may run before them.
    files = (
        "tests.py irlens/*.py triton/*.py torch/__init__.py torch/_meta*.py torch/_subclasses/*.py"
    )
    (recorder.folder / "pytest.ini").write_text(f"[pytest]\npython_files = {files}\n")
    pytest_here = Program(name="pytest", is_module=True, arguments=("-p", "no:cacheprovider"))
    recording = record(pytest_here, recorder.place, [H100], fake=True)
    assert (code(recording), recording.variants) == (0, {"scale": 1})


def test_a_kernel_that_does_not_compile_is_reported_once(recorder: Recorder) -> None:
    """Whether the program catches the exception or ends by it."""
    recording = recorder.run(
        """
        @triton.jit
        def wrong(n):
            missing(n)

        for _ in range(2):
            try:
                wrong[(1,)](5)
            except Exception:
                scale[(1,)](5, BLOCK=32)
        """
    )
    assert (code(recording), recording.variants) == (0, {"scale": 1})
    (failure,) = recording.failures
    assert failure.kernel == "wrong"
    assert re.search(r"program\.py:12:\d+: missing is not defined$", failure.message)


def test_a_program_may_look_for_a_gpu_by_a_command(recorder: Recorder) -> None:
    recording = recorder.run(
        """
import subprocess
smi = lambda *options: subprocess.check_output(["nvidia-smi", *options], text=True).splitlines()
assert "H100" in smi()[0] and smi("-L")[0].startswith("GPU 0: NVIDIA H100")
query = smi("--query-gpu=name,compute_cap,clocks.sm", "--format=csv,noheader,nounits")
(name, capability, clock), = [line.split(", ") for line in query]
assert "H100" in name and (capability, clock) == ("9.0", "[N/A]")
"""
    )
    assert code(recording) == 0


def test_a_program_may_look_for_an_amd_gpu_by_a_command(recorder: Recorder) -> None:
    recording = recorder.run(
        """
import json, subprocess
smi = lambda *options: subprocess.check_output(["rocm-smi", *options], text=True)
assert smi("--showproductname").split() == "GPU[0] : Card Series: AMD Instinct MI300X".split()
card = json.loads(smi("--showproductname", "--json"))["card0"]
assert card == {"Card Series": "AMD Instinct MI300X", "GFX Version": "gfx942"}, card
""",
        gpus=("mi300x",),
    )
    assert code(recording) == 0


def test_progress_is_reported_before_the_first_launch(recorder: Recorder) -> None:
    program = Program(name=str(recorder.write("import time; time.sleep(1.5)")), is_module=False)
    seen: list[int] = []
    record(program, recorder.place, [H100], fake=True, progress=lambda count, _: seen.append(count))
    assert seen
    assert not any(seen)
