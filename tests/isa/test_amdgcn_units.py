"""Cycles of AMD's matrix instructions against three sources: AMD's tool, LLVM, and the peaks."""

import csv
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from irlens import gpus
from irlens.isa.amdgcn import Operation
from irlens.isa.amdgcn.units import PASS_CYCLES, matrix_cycles

DATA = Path(__file__).parents[1] / "data" / "amd" / "matrix_instructions.csv"


class Row(NamedTuple):
    """An instruction, its operations, and whether those with zeros of A are among them."""

    arch: str
    mnemonic: str
    operands: str
    operations: int
    cycles: int
    sparse: bool
    modifiers: tuple[str, ...] = ()


def _published() -> list[Row]:
    with DATA.open() as file:
        return [
            Row(each["arch"], each["mnemonic"], each["operands"], int(each["operations"]),
                int(each["cycles"]), each["sparse"] == "1")
            for each in csv.DictReader(file)
        ]  # fmt: skip


PUBLISHED = _published()
#: AMD's tool does not have gfx950: 2 × m × n × k operations, and LLVM's passes times four.
GFX950 = [
    Row("gfx950", "v_mfma_f32_16x16x4_f32", "fp32", 2 * 16 * 16 * 4, 32, False),
    Row("gfx950", "v_mfma_f32_16x16x16_f16", "fp16", 2 * 16 * 16 * 16, 16, False),
    Row("gfx950", "v_mfma_f32_16x16x32_f16", "fp16", 2 * 16 * 16 * 32, 16, False),
    Row("gfx950", "v_mfma_f32_32x32x16_bf16", "bf16", 2 * 32 * 32 * 16, 32, False),
    Row("gfx950", "v_mfma_i32_16x16x64_i8", "int8", 2 * 16 * 16 * 64, 16, False),
    Row("gfx950", "v_mfma_i32_32x32x32_i8", "int8", 2 * 32 * 32 * 32, 32, False),
    Row("gfx950", "v_mfma_f32_16x16x32_fp8_bf8", "fp8", 2 * 16 * 16 * 32, 16, False),
    Row("gfx950", "v_mfma_f64_4x4x4_4b_f64", "fp64", 2 * 4 * 4 * 4 * 4, 16, False),
    Row("gfx950", "v_mfma_f64_16x16x4_f64", "fp64", 2 * 16 * 16 * 4, 64, False),
    Row("gfx950", "v_smfmac_f32_16x16x64_f16", "fp16", 2 * 16 * 16 * 64, 16, True),
    Row("gfx950", "v_smfmac_f32_32x32x64_fp8_fp8", "fp8", 2 * 32 * 32 * 64, 32, True),
    Row("gfx950", "v_mfma_f32_16x16x128_f8f6f4", "fp8", 2 * 16 * 16 * 128, 32, False),
    Row("gfx950", "v_mfma_f32_32x32x64_f8f6f4", "fp8", 2 * 32 * 32 * 64, 64, False, ("blgp:4",)),
    Row("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", "fp4", 2 * 16 * 16 * 128, 16, False,
        ("op_sel_hi:[0,0,0]", "cbsz:4", "blgp:4")),
    Row("gfx950", "v_mfma_f32_32x32x64_f8f6f4", "fp4", 2 * 32 * 32 * 64, 32, False,
        ("cbsz:4", "blgp:2")),
]  # fmt: skip
ROWS = PUBLISHED + GFX950


def of(row: Row) -> int | None:
    return matrix_cycles(Operation(row.mnemonic, (), row.modifiers), row.arch)


def test_every_instruction_of_amds_tool_has_its_cycles() -> None:
    assert len(PUBLISHED) == 121
    assert {row.arch for row in PUBLISHED} == {"gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1200"}
    assert [(row, of(row)) for row in ROWS if of(row) != row.cycles] == []


def test_no_instruction_exceeds_the_peak_and_each_types_best_one_reaches_it() -> None:
    best: dict[tuple[str, str], float] = defaultdict(float)
    for row in ROWS:
        gpu = gpus.by_arch(row.arch)
        assert gpu is not None
        assert gpu.rates is not None
        simds = gpu.arch.partitions // gpu.arch.units_per_sm
        rate = row.operations / row.cycles * simds
        if row.operands == "int4":
            continue  # no data sheet's figure is in the table of rates
        peak = gpu.rates.tensor[row.operands]  # type: ignore[index]
        assert rate <= peak * (2 if row.sparse else 1), row
        if not row.sparse:
            key = row.arch, row.operands
            best[key] = max(best[key], rate / peak)
    assert len(best) == 30
    assert set(best.values()) == {1.0}, best


@pytest.mark.parametrize(
    ("arch", "mnemonic"),
    [
        ("gfx1250", "v_wmma_f32_16x16x32_f16"),
        ("gfx950", "v_mfma_f32_32x32x4_xf32"),
        ("gfx950", "v_mfma_f32_16x16x256_f8f6f4"),
        ("gfx942", "v_mfma_f32_16x16x128_f8f6f4"),
        ("gfx1100", "v_wmma_f32_16x16x32_f16"),
        ("gfx9999", "v_mfma_f32_32x32x8_f16"),
        ("", "v_mfma_f32_32x32x8_f16"),
    ],
)
def test_what_no_document_has_is_unknown(arch: str, mnemonic: str) -> None:
    assert matrix_cycles(Operation(mnemonic), arch) is None


_PRESSURE = re.compile(r"^[ \t]*(?:[-\d.]+[ \t]+){6}([-\d.]+)[ \t]+(v_mfma\w+)", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["gfx908", "gfx90a"])
def test_llvms_scheduling_model_has_as_many_passes(arch: str, tmp_path: Path) -> None:
    """Against llvm-mca, which every LLVM with these processors can answer; not for fp64."""
    if shutil.which("llvm-mca") is None:
        pytest.skip("no llvm-mca")
    lines = {}
    for row in PUBLISHED:
        found = re.match(r"v_mfma_[fi]32_(\d+)x\1x(\d+)(f32|f16|i8|bf16(?:_1k)?)$", row.mnemonic)
        if row.arch != arch or found is None:
            continue
        sources = {"f32": 1, "f16": 2, "i8": 1, "bf16": 1, "bf16_1k": 2}[found[3]]
        results = row.operations // (2 * int(found[2])) // 64  # registers of C: one for 64 lanes
        pair = [f"v{n}" if sources == 1 else f"v[{n}:{n + 1}]" for n in (0, 2)]
        kept = f"a[0:{results - 1}]"
        lines[row.mnemonic] = f"{row.mnemonic} {kept}, {', '.join(pair)}, {kept}"
    source = tmp_path / "mfma.s"
    source.write_text("\n".join(lines.values()) + "\n")
    ran = subprocess.run(
        ["llvm-mca", "-mtriple=amdgcn", f"-mcpu={arch}", "-iterations=1", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        pytest.skip(f"llvm-mca cannot: {ran.stderr[:200]}")
    passes = {name: float(number) for number, name in _PRESSURE.findall(ran.stdout)}
    assert set(passes) == set(lines)
    for name, number in passes.items():
        assert matrix_cycles(Operation(name), arch) == number * PASS_CYCLES, name
