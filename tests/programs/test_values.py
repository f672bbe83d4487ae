"""Values that a program reads: computed on the CPU, unless only a kernel computes them."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from irlens import gpus as arch
from irlens.programs import Options, Program, Recording, record

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

HEAD = """
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)
"""


def run(folder: Path, text: str, options: Options | None = None, target: str = "h100") -> Recording:
    script = folder / "program.py"
    script.write_text(HEAD + text)
    program = Program(name=str(script), is_module=False)
    gpu = arch.find(target)
    return record(program, folder / "kept", [gpu], fake=True, options=options or Options())


@pytest.mark.starts
def test_what_no_kernel_wrote_is_computed(tmp_path: Path) -> None:
    (ran,) = run(
        tmp_path,
        """
lengths = torch.tensor([3, 5, 2], device="cuda")
assert lengths.max().item() == 5 and lengths.tolist() == [3, 5, 2]
starts = torch.zeros(4, dtype=torch.int32, device="cuda")
starts[1:] = lengths.cumsum(0)
assert starts.tolist() == [0, 3, 8, 10], starts.tolist()

x = torch.arange(10, device="cuda").float()
doubled = x * 2
assert (x > 4).sum().item() == 5 and bool((x >= 0).all())
assert x[x > 4].cpu().numpy().tolist() == [5, 6, 7, 8, 9]
assert x.masked_select(x > 8).is_cuda
x.add_(1)
assert doubled.sum().item() == 90  # x as it was
assert (float(x[0]), int(x[1]), [1, 2, 3][lengths[2]]) == (1.0, 2, 3)
assert torch.nonzero(x > 8).tolist() == [[8], [9]]
assert (x.cpu() + torch.ones(10)).sum() == 65
assert torch.ones(3, device="cuda").repeat_interleave(lengths).shape == (10,)
on_cpu = torch.empty(3).copy_(lengths)
assert on_cpu.tolist() == [3, 5, 2]

out = torch.empty_like(x)
add[(1,)](x, x, out, 10, BLOCK=16)
assert x.sum().item() == 55  # the kernel only reads it
""",
    ).runs
    assert (ran.code, ran.stopped) == (0, None)
    assert ran.deviations.computed > 10
    assert not ran.deviations.drawn


def test_a_training_step_is_computed_once(tmp_path: Path) -> None:
    """Backward passes, also of the program's own, and the optimizer write to the parameters."""
    (ran,) = run(
        tmp_path,
        """
import copy
import torch.nn.functional as F

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return (gradient * 2).add_(0)

def step(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loss = F.cross_entropy(Double.apply(model(x)), y)
    loss.backward()
    optimizer.step()
    return [loss.item(), *model.weight.flatten().tolist(), *model.bias.grad.tolist()]

model = torch.nn.Linear(4, 3)
twin = copy.deepcopy(model).cuda()
x, y = torch.randn(8, 4), torch.randint(3, (8,))
there, here = step(twin, x.cuda(), y.cuda()), step(model, x, y)
assert max(abs(a - b) for a, b in zip(there, here, strict=True)) < 1e-5, (there, here)
assert torch.rand(1000, device="cuda").mean().item() < 1
""",
    ).runs
    assert (ran.code, ran.stopped) == (0, None)
    assert ran.deviations.drawn


def test_limits_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(
        tmp_path,
        """
x = torch.ones(16384, 16384, device="cuda")
for ask in (lambda: (x @ x).sum().item(), lambda: torch.ones(1 << 31, device="cuda").tolist()):
    try:
        ask()
    except RuntimeError as error:
        print(error)
""",
    )
    for line in capfd.readouterr().out.splitlines():
        assert line.endswith("on the CPU: more than 4 GiB or 400 GFLOP"), line


def test_operators_that_a_program_registers_over_pytorchs_run(tmp_path: Path) -> None:
    recording = run(
        tmp_path,
        """
def launched(x, BLOCK):
    assert x.is_cuda
    out = torch.empty_like(x)
    add[(1,)](x, x, out, x.numel(), BLOCK=BLOCK)
    return out

def zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return launched(torch.empty(size, device=device), 512)

library = torch.library.Library("aten", "IMPL")
library.impl("exp", lambda x: launched(x, 64), "CUDA")
library.impl("sin", lambda x: launched(x, 128), "AutogradCUDA")
library.impl("add.Tensor", lambda x, y, alpha=1: launched(x, 256), "CUDA")
library.impl("zeros", zeros, "CUDA")
x = torch.rand(16, device="cuda", requires_grad=True)
assert x.exp().is_cuda and torch.sin(x).is_cuda and (x + x).is_cuda
assert torch.zeros(8, device="cuda").is_cuda
assert torch.ones(2).exp().add(1).shape == (2,) and torch.zeros(2).tolist() == [0, 0]
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert recording.variants == {"add": 4}


@pytest.mark.parametrize("options", [Options(), Options(assumed=1.5)])
def test_only_comparisons_of_what_a_kernel_computes_are_assumed(
    tmp_path: Path, options: Options
) -> None:
    (ran,) = run(
        tmp_path,
        """
x = torch.arange(8.0, device="cuda")
assert torch.equal(x, x.clone()) and not torch.equal(x, x + 1)
assert x.allclose(x + 1e-9) and not torch.allclose(x, other=x * 2) and not x.equal(x[:4])
torch.testing.assert_close([x], [x * 1])
for check in (torch.testing.assert_close, triton.testing.assert_close):
    try:
        check(x, x.cpu() + 1)
    except AssertionError:
        continue
    raise RuntimeError("equal")

out = torch.zeros_like(x)
add[(1,)](x, x, out, 8, BLOCK=16)
assert torch.equal(out, x) and torch.allclose(2 * out, x)
torch.testing.assert_close(out, x + x)
""",
        options,
    ).runs
    assert (ran.code, ran.stopped) == (0, None)
    assert (ran.deviations.compared, ran.deviations.assumed) == (3, 0)


def test_what_a_kernel_computes_can_be_assumed(tmp_path: Path) -> None:
    """Also what the vendor's matrix library computes, whose launches do nothing."""
    recording = run(
        tmp_path,
        """
import math
from triton._C.libtriton import nvidia

x = torch.rand(8, device="cuda")
out = torch.empty_like(x)
add[(1,)](x, x, out, 8, BLOCK=16)
assert out.sum().item() == 12 and bool(out[0] > 1) and (out + x).cpu().shape == (8,)
product = torch.zeros(4, 4, device="cuda")
blas = nvidia.cublas.CublasLt(torch.empty(32, dtype=torch.int8, device="cuda"))
blas.matmul(x.view(4, 2), x.view(4, 2), product)
assert product.sum().item() == 24
assert math.isnan(triton.testing.nvsmi(["clocks.max.sm"])[0])
""",
        Options(assumed=1.5),
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert ran.deviations.assumed == 2


def test_autotuners_try_as_many_configurations_as_asked(tmp_path: Path) -> None:
    recording = run(
        tmp_path,
        """
configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
tuned = triton.autotune(configs, key=["n"])(add)
x = torch.rand(8, device="cuda")
tuned[(1,)](x, x, x, 8)
assert tuned.best_config.kwargs == {"BLOCK": 16}, tuned.best_config
""",
        Options(configurations=2),
    )
    assert recording.runs[0].code == 0
    assert recording.variants == {"add": 2}


NVML = """
NVML_ERROR_NOT_SUPPORTED = 3
class NVMLError(Exception):
    pass
def nvmlInit():
    raise NVMLError(12)  # the library is not found
nvmlShutdown = nvmlDeviceGetCount = nvmlDeviceGetHandleByIndex = nvmlDeviceGetName = nvmlInit
def nvmlDeviceGetClockInfo(handle, kind):
    raise NVMLError(999)
"""


def test_readings_of_a_gpu_are_unknown(tmp_path: Path) -> None:
    """The module is that of the package nvidia-ml-py as far as the program uses it."""
    (tmp_path / "pynvml.py").write_text(NVML)
    recording = run(
        tmp_path,
        """
import math
import pynvml

assert math.isnan(torch.cuda.utilization()) and math.isnan(torch.cuda.clock_rate(0))
assert math.isnan(torch.cuda.max_memory_allocated() / 2**20)
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
assert (pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetName(handle)[:6]) == (1, "NVIDIA")
try:
    pynvml.nvmlDeviceGetClockInfo(handle, 1)
except pynvml.NVMLError as error:
    assert error.args == (pynvml.NVML_ERROR_NOT_SUPPORTED,)
pynvml.nvmlShutdown()
x = torch.rand(8, device="cuda")
add[(1,)](x, x, x, 8, BLOCK=16)
""",
    )
    assert recording.runs[0].code == 0
    assert recording.variants == {"add": 1}


def test_products_of_hipblaslt_do_nothing(tmp_path: Path) -> None:
    (ran,) = run(
        tmp_path,
        """
from triton._C.libtriton import amd

x, product = torch.ones(2, 2, device="cuda"), torch.zeros(2, 2, device="cuda")
blas = amd.hipblas.HipblasLt(torch.empty(32, dtype=torch.int8, device="cuda"))
blas.matmul(x, x, product)
assert product.sum().item() == 8
""",
        Options(assumed=2),
        "mi300x",
    ).runs
    assert (ran.code, ran.stopped, ran.deviations.assumed) == (0, None, 1)


_MEMORY = """
free, total = torch.cuda.mem_get_info()
assert free == total == torch.cuda.get_device_properties(0).total_memory == {size}
x = torch.ones(64, device="cuda")
add[(1,)](x, x, x, 64, BLOCK=64)
"""


@pytest.mark.parametrize(("target", "gigabytes"), [("h100", 80), ("mi300x", 192)])
def test_the_memory_of_a_product_is_an_assumption_that_is_told(
    tmp_path: Path, target: str, gigabytes: int
) -> None:
    (ran,) = run(tmp_path, _MEMORY.format(size=gigabytes << 30), target=target).runs
    assert (ran.code, ran.deviations.memory) == (0, True)


def test_the_memory_of_an_architecture_is_unknown(tmp_path: Path) -> None:
    (ran,) = run(
        tmp_path,
        """
assert not hasattr(torch.cuda.get_device_properties(0), "total_memory")
torch.cuda.mem_get_info()
""",
        target="sm_90",
    ).runs
    assert not ran.deviations.memory
    assert ran.stopped
    assert "torch.cuda.mem_get_info is not known without the GPU" in ran.stopped


def test_what_has_the_shape_of_a_kernels_output_does_not_depend_on_it(tmp_path: Path) -> None:
    (ran,) = run(
        tmp_path,
        """
x = torch.ones(64, device="cuda", requires_grad=True)
out = torch.empty_like(x)
add[(1,)](x, x, out, 64, BLOCK=64)
assert torch.ones_like(out).sum().item() == 64 and torch.zeros_like(out).tolist() == [0] * 64
assert torch.full_like(out, 3.0)[0].item() == 3 and out.new_ones(2).tolist() == [1, 1]
assert out.new_full((2,), 5).dtype == torch.float32 and 0 <= torch.rand_like(out)[0].item() < 1

class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty((), device="cuda")
        add[(1,)](x, x, out, 1, BLOCK=64)
        return out
    @staticmethod
    def backward(ctx, gradient):
        assert gradient.item() == 1
        return gradient.expand(64)

Add.apply(x).backward()
""",
    ).runs
    assert (ran.code, ran.stopped, ran.deviations.assumed) == (0, None, 0)


def test_what_a_kernel_writes_through_an_address_in_memory_is_unknown(tmp_path: Path) -> None:
    """As the tutorial of grouped matrix products does."""
    (ran,) = run(
        tmp_path,
        """
@triton.jit
def fill(addresses, BLOCK: tl.constexpr):
    out = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.arange(0, BLOCK), 1.0)

outputs = [torch.empty(64, device="cuda") for _ in range(2)]
addresses = torch.tensor([each.data_ptr() for each in outputs], device="cuda")
fill[(2,)](addresses, BLOCK=64)
assert all(torch.allclose(each, torch.ones(64, device="cuda")) for each in outputs)
assert not torch.allclose(torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"))
""",
    ).runs
    assert (ran.code, ran.stopped, ran.deviations.compared) == (0, None, 2)


def test_the_profiler_profiles_nothing(tmp_path: Path) -> None:
    pytest.importorskip("triton.profiler")
    (ran,) = run(
        tmp_path,
        """
import triton.profiler as proton
proton.start("profile", hook="triton")
proton.activate(0)
with proton.scope("add"):
    x = torch.ones(64, device="cuda")
    add[(1,)](x, x, x, 64, BLOCK=64)
proton.deactivate()
proton.finalize()
""",
    ).runs
    assert (ran.code, ran.stopped) == (0, None)


def test_a_copy_on_the_cpu_is_there(tmp_path: Path) -> None:
    """It has no values where a kernel wrote them, and neither has what follows from it."""
    (ran,) = run(
        tmp_path,
        """
x = torch.arange(64.0, device="cuda").requires_grad_()
out = torch.empty(64, device="cuda")
add[(1,)](x, x, out, 64, BLOCK=64)
for copy in (out.cpu(), out.to("cpu"), out.to(torch.zeros(2)), out.to(device="cpu")):
    assert copy.device == torch.device("cpu") and copy.is_cpu and not copy.is_cuda
    assert copy.type() == "torch.FloatTensor" and copy.get_device() == -1
    assert copy[3:].device.type == (copy * 2).device.type == copy.sum().device.type == "cpu"
    assert "cpu" in repr(copy) and copy.cpu() is copy
    assert copy.cuda().is_cuda and copy.to("cuda").device.type == "cuda" and copy.to(out).is_cuda
    assert torch.zeros_like(copy, device="cuda").is_cuda and torch.ones_like(copy).is_cpu
assert out.is_cuda and out.to(torch.float16).is_cuda and (out + out).is_cuda
copy.add_(1)
assert out.is_cuda and out.to(out).is_cuda and out.to(copy).is_cpu

loss = (x * 2).cpu().pow(2).sum()
assert loss.device.type == "cpu" and loss.item() == 4 * sum(n * n for n in range(64))
loss.backward()
assert x.grad.is_cuda and x.grad.tolist() == [8 * n for n in range(64)]
assert torch.nn.Linear(4, 4).cuda().cpu().weight.device.type == "cpu"
""",
    ).runs
    assert (ran.code, ran.stopped) == (0, None)


def test_what_has_no_values_is_not_saved(tmp_path: Path) -> None:
    """A checkpoint at the end of a training loop neither stops it nor is overwritten."""
    (ran,) = run(
        tmp_path,
        """
from pathlib import Path

model = torch.nn.Linear(8, 8)
torch.save(model.state_dict(), "own.pt")
assert torch.load("own.pt")["weight"].shape == (8, 8)
Path("model.pt").write_text("of yesterday")
torch.save({"model": model.cuda().state_dict()}, "model.pt")
assert Path("model.pt").read_text() == "of yesterday"
""".replace('"own.pt"', repr(str(tmp_path / "own.pt"))).replace(
            '"model.pt"', repr(str(tmp_path / "model.pt"))
        ),
    ).runs
    assert (ran.stopped, ran.code, ran.deviations.unsaved) == (None, 0, 1)
