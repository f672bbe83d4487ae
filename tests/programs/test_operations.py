"""The operations of programs: PyTorch's, Triton's, and what ``torch.compile`` makes of them."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from irlens.model.ledger import Ledger, Ledgers
from irlens.programs import Options, Program
from irlens.session.ledgers import program_ledgers

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

HEAD = """
import torch, triton, triton.language as tl

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * 2, mask=offsets < n)

"""


def ledgers(folder: Path, text: str, assumed: float | None = None) -> tuple[Ledgers, str | None]:
    script = folder / "program.py"
    script.write_text(HEAD + text)
    program = Program(name=str(script), is_module=False)
    return program_ledgers(program, "h100", Options(assumed=assumed))


def names(ledger: Ledger) -> list[str]:
    return [each.name for each in ledger.operations]


@pytest.mark.starts
def test_launches_and_operators_are_in_one_ledger(tmp_path: Path) -> None:
    found, failure = ledgers(
        tmp_path,
        """
m, n = 300, 200
x = torch.zeros(m, n, device="cuda")
y = torch.empty_like(x)
for _ in range(2):
    scale[(triton.cdiv(m * n, 1024),)](x, y, m * n, BLOCK=1024)
part = torch.empty_like(x)
scale[(1,)](y, part, 1000, BLOCK=1024)
z = torch.exp(y - y.amax(dim=1, keepdim=True))
print(z.shape)
""",
    )
    (ledger,) = found.ledgers
    assert failure is None
    assert names(ledger) == ["aten.zeros", *["scale"] * 3, "aten.amax", "aten.sub", "aten.exp"]
    size = 4 * 300 * 200
    moved = [(each.read_bytes, each.written_bytes) for each in ledger.operations]
    assert moved[:5] == [(0, size), (size, size), (size, size), (4000, 4000), (size, 1200)]
    assert ledger.operations[1].inputs == ["#1 fp32[300, 200]"]
    assert ledger.operations[4].inputs == ["#3 fp32[300, 200]"]
    assert [each.requested_bytes for each in ledger.operations[:3]] == [None, size, size]
    assert ledger.groups[-1].operations == [5, 6, 7]
    assert [each.source.line for each in ledger.operations if each.source][:2] == [12, 15]


def test_freed_intermediates_are_not_outputs(tmp_path: Path) -> None:
    found, _ = ledgers(
        tmp_path,
        """
def f(x):
    return ((x + 1) * 2).relu()
x = torch.zeros(1000, device="cuda")
y = f(x)
""",
    )
    (ledger,) = found.ledgers
    assert ledger.grouped.kernels == 1
    assert ledger.grouped.written_bytes == 8000  # x and y, which the program holds
    assert ledger.separate.written_bytes == 16_000


def test_what_compilation_saves(tmp_path: Path) -> None:
    found, failure = ledgers(
        tmp_path,
        """
def softmax(x):
    z = x - x.amax(dim=1, keepdim=True)
    numerator = torch.exp(z)
    return numerator / numerator.sum(dim=1, keepdim=True)

x = torch.randn(512, 2048, device="cuda")
softmax(x)
compiled = torch.compile(softmax)
y, again = compiled(x), compiled(x)
""",
    )
    assert failure is None
    program, eager, compiled = found.ledgers
    assert [each.kind for each in found.ledgers] == ["program", "eager", "compiled"]
    assert eager.name == compiled.name == "softmax"
    m, n = 512, 2048
    assert eager.separate.read_bytes == 4 * (5 * m * n + 2 * m)
    assert eager.separate.written_bytes == 4 * (3 * m * n + 2 * m)
    assert eager.grouped == eager.one_pass
    assert compiled.separate == eager.one_pass
    kernels = [each for each in program.operations if each.kind == "kernel"]
    assert [each.graph for each in kernels] == ["softmax", "softmax"]
    eagerly = [each for each in program.operations if each.kind not in ("kernel", "random")]
    assert [(e.name, e.read_bytes) for e in eagerly] == [
        (each.name, each.read_bytes) for each in eager.operations
    ]


def test_a_launch_whose_addresses_depend_on_data_is_unknown(tmp_path: Path) -> None:
    found, _ = ledgers(
        tmp_path,
        """
@triton.jit
def gather(index_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets)
    tl.store(y_ptr + offsets, tl.load(x_ptr + index))

index = torch.zeros(128, dtype=torch.int32, device="cuda")
x, y = torch.ones(128, device="cuda"), torch.empty(128, device="cuda")
gather[(1,)](index, x, y, BLOCK=128)
""",
    )
    (ledger,) = found.ledgers
    launch = ledger.operations[-1]
    assert launch.name == "gather"
    assert launch.read_bytes is None
    assert launch.unknown.startswith("gather: ")
    assert ledger.unknown == [launch.unknown]
    assert ledger.separate.total is None


def test_tuning_is_left_out(tmp_path: Path) -> None:
    found, _ = ledgers(
        tmp_path,
        """
tuned = triton.autotune(
    [triton.Config({"BLOCK": size}) for size in (256, 512)], key=["n"], restore_value=["y_ptr"]
)(scale)
x, y = torch.ones(4096, device="cuda"), torch.ones(4096, device="cuda")
tuned[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, y, 4096)
""",
    )
    (ledger,) = found.ledgers
    assert names(ledger) == ["aten.ones", "aten.ones", "scale"]


def test_a_program_that_stops_keeps_what_ran(tmp_path: Path) -> None:
    found, failure = ledgers(
        tmp_path,
        """
x, y = torch.ones(1024, device="cuda"), torch.empty(1024, device="cuda")
scale[(1,)](x, y, 1024, BLOCK=1024)
if y.sum().item() > 3:
    y.exp()
""",
    )
    assert failure is not None
    assert "program.py:13" in failure
    assert names(found.ledgers[0]) == ["aten.ones", "scale", "aten.sum"]
    assert any(failure in note for note in found.notes)


def test_a_byte_that_is_loaded_again_counts_once(tmp_path: Path) -> None:
    found, _ = ledgers(
        tmp_path,
        """
@triton.jit
def spread(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + tl.program_id(0) * BLOCK + offsets, x)

x, y = torch.ones(64, device="cuda"), torch.empty(640, device="cuda")
spread[(10,)](x, y, BLOCK=64)
""",
    )
    launch = found.ledgers[0].operations[-1]
    assert (launch.read_bytes, launch.requested_bytes, launch.written_bytes) == (256, 2560, 2560)
    assert launch.reason.endswith("; it loads each byte 10.00 times on average")
