"""What is read of matrix products without a disassembler, against nvdisasm."""

import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.artifacts import tools
from irlens.artifacts.code_listings import list_code
from irlens.isa import sass
from irlens.isa.sass import warpgroup
from irlens.isa.sass.warpgroup import Branch, Product, Step, Wait
from irlens.model.errors import ArtifactError

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
ARCHIVES = ("h200/triton-cache.tar.xz", "cubin/triton.tar.xz", "marks/triton36.tar.xz")
PRODUCTS = ("HGMMA", "IGMMA", "BGMMA", "QGMMA")
CONTROL = frozenset(
    (
        "BMOV", "BPT", "BRA", "BREAK", "BRX", "BRXU", "BSSY", "BSYNC", "CALL", "EXIT", "JMP", "JMX",
        "JMXU", "KILL", "NANOSLEEP", "RET", "RPCMOV", "RTT", "WARPSYNC", "YIELD",
    )
)  # fmt: skip

#: Every type and every place of the first operand, dense and sparse, and every limit of a wait.
PTX = """
.version 8.4
.target sm_90a
.address_size 64
.visible .entry every(.param .u64 p)
{{
.reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
ld.param.u64 %rd1, [p];
ld.global.b32 %r9, [%rd1];
setp.ne.b32 %p1, %r9, 0;
wgmma.fence.sync.aligned;
{0}
st.global.f32 [%rd1], %f0; st.global.b32 [%rd1], %r5;
ret;
}}
"""
ACCUMULATORS = {"f32": "{%f0,%f1,%f2,%f3}", "s32": "{%r5,%r6,%r7,%r8}", "f16": "{%r5,%r6}"}
FORMS = [
    ("m64n8k16.f32.f16.f16", "{%r1,%r2,%r3,%r4}, %rd1, 1, 1, 1, 0"),
    ("m64n8k16.f16.f16.f16", "%rd1, %rd1, 1, 1, 1, 0, 0"),
    ("m64n8k16.f32.bf16.bf16", "%rd1, %rd1, 1, 1, -1, 1, 1"),
    ("m64n8k8.f32.tf32.tf32", "%rd1, %rd1, %p1, 1, 1"),
    ("m64n8k32.f32.e4m3.e5m2", "%rd1, %rd1, 1, 1, 1"),
    ("m64n8k32.f32.e5m2.e5m2", "{%r1,%r2,%r3,%r4}, %rd1, 1, 1, 1"),
    ("m64n8k32.s32.s8.u8", "%rd1, %rd1, 1"),
    ("m64n8k32.s32.u8.u8", "{%r1,%r2,%r3,%r4}, %rd1, 1"),
    ("m64n8k256.s32.b1.b1.and.popc", "%rd1, %rd1, 1"),
    ("m64n8k256.s32.b1.b1.and.popc", "{%r1,%r2,%r3,%r4}, %rd1, 1"),
]
SPARSE = [
    ("m64n8k32.f32.f16.f16", "%rd1, %rd1, %r9, 0, 1, 1, 1, 0, 0"),
    ("m64n8k64.s32.s8.s8", "{%r1,%r2,%r3,%r4}, %rd1, %r9, 0, 1"),
]


def _everything() -> str:
    lines = []
    for kind, forms in (("mma_async", FORMS), ("mma_async.sp", SPARSE)):
        for number, (shape, operands) in enumerate(forms):
            accumulator = ACCUMULATORS[shape.split(".")[1]]
            lines += [
                f"wgmma.{kind}.sync.aligned.{shape} {accumulator}, {operands};",
                "wgmma.commit_group.sync.aligned;",
                f"wgmma.wait_group.sync.aligned {number % 8};",
            ]
    return PTX.format("\n".join([*lines, "wgmma.wait_group.sync.aligned 0;"]))


def _corpus() -> Iterator[bytes]:
    for archive in ARCHIVES:
        with tarfile.open(DATA / archive) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.name.endswith(".cubin") else None
                if file is not None:
                    yield file.read()
    for path in sorted((ROOT / "samples" / "captures").glob("*/*.cubin")):
        yield path.read_bytes()


def _by_nvdisasm(listing: str) -> dict[str, list[Step]]:
    """The same steps from the text that nvdisasm prints."""
    found = {}
    for section in sass.parse(listing).sections:
        steps = [_step(each) for each in section.instructions]
        found[section.name] = [step for step in steps if step is not None]
    return found


def _step(each: sass.Instruction) -> Step | None:
    operands = [operand.text for operand in each.operands]
    if each.opcode in PRODUCTS:
        return Product(each.offset, closes="gsb0" in operands)
    if (each.opcode, each.modifiers) == ("WARPGROUP", ("DEPBAR", "LE")):
        return Wait(each.offset, int(operands[1], 16), certain=each.guard is None)
    return Branch(each.offset) if each.opcode in CONTROL else None


@pytest.mark.slow
def test_agrees_with_nvdisasm_on_every_instruction() -> None:
    products = waits = kernels = 0
    read = {cubin: found for cubin in _corpus() if (found := warpgroup.read(cubin)) is not None}
    listings = list_code(list(read))
    for cubin, found in read.items():
        expected = _by_nvdisasm(listings[cubin] or tools.disassemble(cubin))
        for kernel in found:
            assert list(kernel.steps) == expected[kernel.name], kernel.name
            products += sum(isinstance(step, Product) for step in kernel.steps)
            waits += sum(isinstance(step, Wait) for step in kernel.steps)
            kernels += 1
    assert kernels >= 39
    assert products >= 170
    assert waits >= 50


def test_knows_every_form_of_a_product(tmp_path: Path) -> None:
    source = tmp_path / "every.ptx"
    source.write_text(_everything())
    target = tmp_path / "every.cubin"
    arguments = ["--gpu-name", "sm_90a", str(source), "-o", str(target)]
    tools.run(tools.find("ptxas"), arguments)
    (kernel,) = warpgroup.read(target.read_bytes()) or []
    assert list(kernel.steps) == _by_nvdisasm(tools.disassemble(target.read_bytes()))["every"]
    assert sum(isinstance(step, Product) for step in kernel.steps) == len(FORMS) + len(SPARSE)


def test_reads_fields_as_nvdisasm_does(tmp_path: Path) -> None:
    """A wait for each limit, with and without a predicate, and the other kinds of WARPGROUP."""
    wait = 0x000FE4000001000000008000000079C5
    words = [wait | limit << 72 for limit in range(8)]
    words += [word ^ 1 << 12 for word in words]  # under P6
    words += [wait & ~(1 << 80), wait & ~(1 << 80) | 1 << 79]  # ARRIVE, WAIT
    path = tmp_path / "x.bin"
    path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
    tool = tools.find("nvdisasm")
    text = subprocess.run(
        [tool, "--binary", "SM90a", path], capture_output=True, text=True, check=True
    ).stdout
    shown = re.findall(
        r"/\*([0-9a-f]{4})\*/\s+(@P6 )?WARPGROUP\.(?:DEPBAR\.LE gsb0, 0x(\d)|\w+)", text
    )
    assert len(shown) == len(words)
    expected = [Wait(int(at, 16), int(limit), not guard) for at, guard, limit in shown if limit]
    assert list(warpgroup.decode(path.read_bytes())) == expected


def test_another_architecture_is_not_read() -> None:
    softmax = ROOT / "samples" / "captures" / "softmax-t4" / "softmax_kernel.cubin"
    assert warpgroup.read(softmax.read_bytes()) is None


def test_what_is_no_cubin_is_refused() -> None:
    hsaco = ROOT / "samples" / "captures" / "softmax-mi300x" / "softmax_kernel.hsaco"
    with pytest.raises(ArtifactError):
        warpgroup.read(hsaco.read_bytes())
    with pytest.raises(ArtifactError):
        warpgroup.read(b"nothing")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_in_order(code: bytes) -> None:
    offsets = [step.offset for step in warpgroup.decode(code)]
    assert offsets == sorted(set(offsets))
    assert all(offset % 16 == 0 and offset + 16 <= len(code) for offset in offsets)
