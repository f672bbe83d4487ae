"""The smallest sizes at which launches break, against brute force in narrow integers."""

import time
from pathlib import Path

import pytest

from irlens import gpus
from irlens.analyze import work
from irlens.analyze.breaking_launches import broken
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.traffic.values import UnknownTrafficError
from irlens.compiler import Request, capture
from irlens.isa.mlir import Module, parse
from irlens.model.config import ConstexprValue

pytestmark = pytest.mark.compiled_to("ttir")

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def rows(x, n, STRIDE: tl.constexpr, BLOCK: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0).to(T)
    at = tl.arange(0, BLOCK)
    start = row * tl.full((), STRIDE, T)
    tl.store(x + start + at, 0.0)

@triton.jit
def masked(x, n, BLOCK: tl.constexpr, T: tl.constexpr):
    at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(T)
    tl.store(x + at, 0.0, at < n)

@triton.jit
def overrun(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 0.0, at <= n)

@triton.jit
def looped(x, n, BLOCK: tl.constexpr, T: tl.constexpr):
    for at in range(0, n, BLOCK):
        offset = tl.full((), at, tl.int32).to(T) * tl.full((), 3, T)
        tl.store(x + offset + tl.arange(0, BLOCK), 0.0)

@triton.jit
def swizzled(x, n, BLOCK: tl.constexpr, T: tl.constexpr):
    row = ((tl.program_id(0) + 5000) % 10000).to(T) * tl.full((), BLOCK, T)
    tl.store(x + row + tl.arange(0, BLOCK), 0.0)

@triton.jit
def indirect(x, index, n):
    tl.store(x + tl.load(index + tl.program_id(0)), 0.0)
"""
BITS = {"tl.int8": 8, "tl.int16": 16}


def held(number: int, bits: int) -> int:
    """What a signed integer of so many bits makes of a number."""
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("narrow") / "narrow.py"
    path.write_text(KERNELS)
    return path


def ttir(file: Path, name: str, **settings: int | str) -> Module:
    args: dict[str, ConstexprValue] = {"x": "fp32[64]", "n": 33}
    if name == "indirect":
        args["index"] = "int32[64]"
    request = Request(
        kernel=f"{file}:{name}", target=gpus.find("h100").target, settings={**settings}, args=args
    )
    (compiled,) = capture(request)
    code = CaptureCode(compiled).ttir
    assert code is not None
    return code.named


def smallest(module: Module, kind: str, of: range, size: int, programs: int, tensor: int) -> int:
    """The first size of a range at which a kind of breakage is found, one by one."""
    for n in of:
        grid = (-(-n // size) if programs == 0 else n, 1, 1)
        args = {"x": f"fp32[{tensor or n}]", "n": n}
        if kind in broken(module, args, grid).causes:
            return n
    return 0


@pytest.mark.parametrize(("kind", "stride"), [("tl.int8", 4), ("tl.int8", 7), ("tl.int16", 500)])
def test_offsets_of_rows_wrap_where_brute_force_does(file: Path, kind: str, stride: int) -> None:
    module = ttir(file, "rows", STRIDE=stride, BLOCK=4, T=kind)
    bits = BITS[kind]
    right = next(
        n for n in range(1, 1000)
        if held(held(n - 1, bits) * held(stride, bits), bits) != (n - 1) * stride
    )  # fmt: skip
    assert smallest(module, "overflow", range(1, 1000), 1, 1, 10**6) == right
    cause = broken(module, {"x": "fp32[1000000]", "n": 1}, (right, 1, 1)).causes["overflow"]
    assert cause.program == (right - 1, 0, 0)
    assert cause.word == "multiplication"
    assert cause.value == (right - 1) * stride
    assert not cause.only_mask
    assert cause.bits == bits
    assert cause.at is not None
    assert cause.at.line == 9
    assert cause.source is not None
    assert cause.source.line == 10


@pytest.mark.parametrize(("kind", "block"), [("tl.int8", 16), ("tl.int8", 8), ("tl.int16", 64)])
def test_masks_overflow_where_brute_force_does(file: Path, kind: str, block: int) -> None:
    module = ttir(file, "masked", BLOCK=block, T=kind)
    bits, limit = BITS[kind], (1 << (BITS[kind] - 1)) - 1

    def breaks(n: int) -> bool:
        lanes = range(-(-n // block) * block)
        return any((held(each, bits) < n) != (each < n) for each in lanes)

    first, last = limit - 2 * block, limit + 2 * block
    right = next(n for n in range(first, last) if breaks(n))
    assert smallest(module, "overflow", range(first, last), block, 0, 10**6) == right
    cause = broken(module, {"x": "fp32[1000000]", "n": right}, (-(-right // block), 1, 1)).causes
    assert cause["overflow"].word == "conversion"
    assert cause["overflow"].bits == bits


def test_what_is_masked_off_may_overflow(file: Path) -> None:
    # The last block reaches 127, which int8 holds; of the 112 elements all are right.
    module = ttir(file, "masked", BLOCK=16, T="tl.int8")
    assert broken(module, {"x": "fp32[112]", "n": 112}, (7, 1, 1)).causes == {}


def test_an_access_beyond_its_tensor_is_no_overflow(file: Path) -> None:
    module = ttir(file, "overrun", BLOCK=16)
    fine = broken(module, {"x": "fp32[33]", "n": 32}, (3, 1, 1))
    assert fine.causes == {}
    assert fine.is_whole
    causes = broken(module, {"x": "fp32[33]", "n": 33}, (3, 1, 1)).causes
    assert causes.keys() == {"outside"}
    outside = causes["outside"]
    assert (outside.argument, outside.value, outside.most) == ("x", 33 * 4, 33 * 4)
    assert outside.program == (2, 0, 0)


def test_offsets_of_a_loop_wrap(file: Path) -> None:
    module = ttir(file, "looped", BLOCK=4, T="tl.int8")
    right = next(n for n in range(1, 200) if any(at * 3 > 127 for at in range(0, n, 4)))
    assert smallest(module, "overflow", range(1, 200), 1, 1, 10**6) == right


def test_sums_and_products_are_largest_in_programs_at_the_ends(file: Path) -> None:
    module = ttir(file, "rows", STRIDE=4, BLOCK=4, T="tl.int32")
    fine = broken(module, {"x": f"fp32[{2**32}]", "n": 1}, (2**29, 1, 1))
    assert (fine.causes, fine.is_whole) == ({}, True)
    wrapped = broken(module, {"x": f"fp32[{2**34}]", "n": 1}, (2**29 + 1, 1, 1))
    assert wrapped.causes["overflow"].program == (2**29, 0, 0)


def test_of_other_programs_nothing_is_known_unless_every_one_is_evaluated(file: Path) -> None:
    module = ttir(file, "swizzled", BLOCK=4, T="tl.int16")
    args = {"x": "fp32[1000000]", "n": 5000}
    # The program with the largest row is none of those at the ends.
    every = broken(module, args, (10_000, 1, 1))
    assert every.is_whole
    assert every.causes["overflow"].program == (8192 - 5000, 0, 0)
    assert not broken(module, args, (100_000_000, 1, 1)).is_whole


def test_addresses_that_follow_from_data_are_unknown(file: Path) -> None:
    module = ttir(file, "indirect")
    with pytest.raises(Exception, match="data"):
        broken(module, {"x": "fp32[64]", "index": "int32[64]", "n": 33}, (4, 1, 1))


def test_loops_in_loops_of_many_programs_are_unknown_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "STEPS", 100_000)  # a fifteenth, in a fifteenth of the time
    loops = "".join(f"scf.for %i{n} = %c0 to %n step %c1 : i32 {{\n" for n in range(3))
    accesses = "".join(
        f"%q{n} = arith.addi %pid, %i2 : i32\n"
        f"%p{n} = tt.addptr %x, %q{n} : !tt.ptr<f32>, i32\n"
        f"%v{n} = tt.load %p{n} : !tt.ptr<f32>\n"
        for n in range(60)
    )
    text = f"""
module {{
  tt.func public @nest(%x: !tt.ptr<f32>) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %n = arith.constant 8000 : i32
    %pid = tt.get_program_id x : i32
    {loops}{accesses}{"}" * 3}
    tt.return
  }}
}}
"""
    begun = time.process_time()
    with pytest.raises(UnknownTrafficError, match="takes more than 100,000 steps"):
        broken(parse(text, stage="ttir"), {"x": "fp32[64]"}, (1000, 1, 1))
    assert time.process_time() - begun < 2
