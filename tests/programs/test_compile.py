"""What ``torch.compile`` makes of a program is kept too, without the GPU it is made for."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from irlens import gpus as arch
from irlens.artifacts.load import load
from irlens.compiler import compile_request
from irlens.model.capture import Capture
from irlens.programs import Program, Recording, record
from irlens.report.inspection import Inspection
from irlens.session.recompile import request_of, source_of

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


def run(folder: Path, text: str, target: str = "h100") -> tuple[Recording, list[Capture]]:
    script = folder / "program.py"
    script.write_text(text)
    program = Program(name=str(script), is_module=False)
    recording = record(program, folder / "kept", [arch.find(target)], fake=True)
    if not recording.variants:
        return recording, []
    return recording, [each for each in load(folder / "kept") if isinstance(each, Capture)]


def named(kept: Sequence[Capture], part: str) -> list[Capture]:
    return [capture for capture in kept if part in capture.kernel]


@pytest.mark.starts
def test_a_training_step_is_compiled_for_the_gpu(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        """
import torch
import torch.nn.functional as F
import triton, triton.language as tl

@triton.jit
def mine(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)

def doubled(x):
    out = torch.empty_like(x)
    mine[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), BLOCK=512)
    return out

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.up = torch.nn.Linear(256, 256)

    def forward(self, x):
        assert x.is_cuda and x.device == torch.device("cuda", 0)
        heads = self.norm(x).view(4, 128, 4, 64).transpose(1, 2)
        x = x + F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).transpose(
            1, 2
        ).reshape(x.shape)
        return F.gelu(self.up(x)) + torch.ones(256, device="cuda", dtype=torch.half)

block = Block().cuda().half()
compiled = torch.compile(block)
x = torch.randn(4, 128, 256, device="cuda", dtype=torch.half)
for _ in range(2):
    out = compiled(x)
    out.float().sum().backward()
assert out.is_cuda and out.dtype == torch.half and block.up.weight.grad.is_cuda
assert torch.compile(doubled)(x).is_cuda
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert (ran.deviations.uncompiled, ran.deviations.blind) == (0, 0)
    assert ran.deviations.attention
    assert not named(kept, "softmax")  # which is in the kernel of the attention
    assert named(kept, "layer_norm")
    assert named(kept, "gelu_backward")
    assert all(capture.target == arch.find("h100").target for capture in kept)
    assert all(Inspection(capture).resources.registers for capture in kept)
    (mine,) = named(kept, "mine")
    assert mine.config.args == {"x": "fp16[4, 128, 256]", "out": "fp16[4, 128, 256]", "n": 131072}
    assert (mine.config.constexprs, mine.config.grid) == ({"BLOCK": 512}, (256, 1, 1))
    _check_grids(kept)
    for capture in named(kept, "gelu_backward"):
        # TorchInductor's file was removed with the run's folder.
        again = request_of(capture, source_of(capture, None) or "", {"num_warps": "2"})
        assert again.grid or again.args
        (compiled,) = compile_request.capture(again)
        assert compiled.config.num_warps == 2


def _check_grids(kept: Sequence[Capture]) -> None:
    """Hold the grids against the rule of kernels over one range: a CTA for each block of it."""
    simple = [capture for capture in kept if capture.config.args.keys() >= {"xnumel"}]
    assert simple
    for capture in simple:
        total, block = capture.config.args["xnumel"], capture.config.constexprs["XBLOCK"]
        assert isinstance(total, int)
        assert isinstance(block, int)
        assert capture.config.grid == (-(-total // block), 1, 1), capture.kernel


def test_what_tuning_would_time_is_all_kept(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        """
import torch
from torch._inductor import config

config.test_configs.max_mm_configs = 3
x = torch.randn(256, 256, device="cuda", dtype=torch.half)

@torch.compile(mode="max-autotune")
def product(x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return (x @ x).relu()

assert product(x).dtype == torch.bfloat16 and product(x).is_cuda
""",
        target="mi300x",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert ran.deviations.untimed > 1
    products = named(kept, "triton_mm")
    assert len(products) == 3
    assert {"bf16[256, 256]"} == {capture.config.args["arg_A"] for capture in products}
    assert all("amdgcn" in capture.stages for capture in products)


def test_what_only_the_gpu_could_tell_ends_the_program_at_its_line(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        'import torch\nx = torch.rand(512, 512, device="cuda")\n'
        "torch.compile(lambda x: torch.softmax(x, 0))(x)\n",
        target="sm_90",  # an arch, of which nobody knows how many SMs there are
    )
    (ran,) = recording.runs
    assert (ran.code, kept) == (1, [])
    assert ran.stopped is not None
    assert ran.stopped.startswith(f"{tmp_path}/program.py:3: multi_processor_count")


def test_where_pytorch_does_not_let_it_functions_stay_as_they_are(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        """
import torch
from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.fake_cuda.inductor import disable_compile

told = Deviations()
disable_compile(told)
x = torch.rand(8, device="cuda")

@torch.compile(dynamic=True)
def twice(x):
    return x * 2

assert twice(x).is_cuda and twice(x).is_cuda and torch.compile(torch.sin) is not torch.sin
assert told.uncompiled == 1  # the other has not been called
""",
    )
    (ran,) = recording.runs
    assert (ran.code, kept) == (0, [])


def test_what_has_one_value_everywhere_is_folded_as_on_the_cpu(tmp_path: Path) -> None:
    # On the CPU there are values: what TorchInductor leaves of a graph there, it leaves of it here.
    recording, kept = run(
        tmp_path,
        """
import torch
from torch._inductor import config

class Enough(Exception):
    pass

left = []

def note(graph):
    left.append(
        [(str(node.target), [each for each in node.args if isinstance(each, float)])
         for node in graph.nodes if node.users]
    )
    if len(left) == 1:
        raise Enough  # the C++ of the CPU takes twenty seconds to compile

config.joint_custom_post_pass = note

@torch.compile
def sums(x, i):
    device = x.device
    same = x * 2 + torch.zeros(256, device=device) - torch.ones(256, device=device).log() + i * 0
    same = same * torch.ones(4, 256, device=device)
    return same + torch.full((256,), 1.5, device=device).square()

def run(device):
    whole = torch.ones(4, 256, device=device, dtype=torch.int64)
    return sums(torch.rand(4, 256, device=device), whole)

try:
    run("cpu")
except Exception as error:
    assert "Enough" in str(error), error
assert run("cuda").is_cuda
here, there = left
assert here == there, left
names, constants = zip(*there[1:])
assert names == ("aten.mul.Tensor", "aten.full.default", "aten.add.Tensor"), there
assert constants[1] == [2.25], there
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert {capture.kernel for capture in kept} == {"triton_poi_fused_add_mul_pow_0"}


def test_constants_are_put_into_kernels_as_they_are_on_the_gpu(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        """
import torch
from torch._inductor import config

def few(x):
    scaled = x[:, [5, 11]] / torch.tensor(8.0, device="cuda").sqrt()
    return scaled * torch.tensor([29.0, 31.0], device="cuda")

def many(x):
    return x * torch.tensor(16 * [3.0, 5.0]) + torch.tensor(16 * [7.0, 11.0])

x = torch.rand(4, 32, device="cuda")
torch.compile(few)(x)
torch.set_default_device("cuda")
torch.compile(many, fullgraph=True)(x)
torch.set_default_device(None)

left = []
config.freezing = True
config.post_grad_custom_post_pass = lambda graph: left.extend(
    str(node.target) for node in graph.nodes if node.op == "call_function" and node.users
)
model = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.BatchNorm1d(16)).cuda().eval()
with torch.no_grad():
    torch.compile(model)(x)
assert "aten.mm.default" in left and "aten.sqrt.default" not in left, left
assert "aten.permute.default" not in left, left
config.post_grad_custom_post_pass = None
with torch.no_grad():
    linear = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.ReLU()).cuda()
    linear[0].bias.fill_(13.0)  # which is put into the kernel
    torch.compile(linear)(x)

import triton, triton.language as tl

@triton.jit
def fill(out):
    tl.store(out + tl.arange(0, 4), 1.0)

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.empty(4, device="cuda"))
        fill[(1,)](self.scale)
    def forward(self, x):
        return torch.tanh(x[:, :4] * self.scale)

with torch.no_grad():
    torch.compile(Scaled())(x)
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped, ran.deviations.unread) == (0, None, 1)
    (biased,) = named(kept, "relu")
    assert "1.300000e+01" in biased.stages["ttir"].text()
    (scaled,) = named(kept, "tanh")
    assert "fp32[4]" in scaled.config.args.values()
    (few,) = named(kept, "index")
    assert few.config.args.keys() == {"in_ptr0", "out_ptr0", "xnumel"}
    ttir = few.stages["ttir"].text()
    assert "dense<2.900000e+01>" in ttir
    assert "dense<3.100000e+01>" in ttir
    (many,) = named(kept, "add_lift_fresh")
    assert many.config.args["in_ptr1"] == many.config.args["in_ptr2"] == "fp32[32]"


def test_what_would_be_padded_is_timed_without_values(tmp_path: Path) -> None:
    recording, kept = run(
        tmp_path,
        """
import torch

linear = torch.nn.Sequential(torch.nn.Linear(1023, 1001), torch.nn.ReLU()).cuda().half()
torch.compile(linear)(torch.randn(4096, 1023, device="cuda").half())
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert ran.deviations.untimed
    assert named(kept, "relu")


def test_convolutions_have_the_memory_format_of_cudnn(tmp_path: Path) -> None:
    """An H100 with cuDNN returns these strides, and torch.compile asserts those of its trace."""
    recording, kept = run(
        tmp_path,
        """
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

x = torch.rand(2, 8, 16, 16, device="cuda")
last = x.to(memory_format=torch.channels_last)
weight = torch.rand(16, 8, 3, 3, device="cuda")
assert F.conv2d(x, weight, padding=1).stride() == (4096, 256, 16, 1)
assert F.conv2d(last, weight, padding=1).stride() == (4096, 1, 256, 16)
with FakeTensorMode():
    x, weight = (torch.empty(each, device="cuda") for each in ((2, 8, 16, 16), (16, 8, 3, 3)))
    last = x.to(memory_format=torch.channels_last)
    assert F.conv2d(last, weight, padding=1).stride() == (4096, 1, 256, 16)

net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
torch.compile(net.cuda())(torch.rand(2, 3, 16, 16, device="cuda")).sum().backward()
assert net[0].weight.grad.is_cuda
""",
    )
    (ran,) = recording.runs
    assert (ran.code, ran.stopped) == (0, None)
    assert named(kept, "batch_norm_backward")
