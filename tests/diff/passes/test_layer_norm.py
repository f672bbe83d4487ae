"""triton#11127: a layer norm takes 64 registers with Triton 3.6 and 72 with 3.7, on sm_100.

The stages behind MLIR's passes lead to it: LLVM's code generator of 3.7 adds fp16 to fp32 in one
instruction, and ptxas then keeps more values alive. Writing the conversions out again takes the
registers back, with the same ptxas.
"""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.version import Version

from irlens.artifacts.load import load
from irlens.compiler.toolchains import triton_version
from irlens.diff.passes.across import stage_differences
from irlens.model.capture import Capture

SAMPLES = Path(__file__).parents[3] / "samples/captures"


def _sample(name: str) -> Capture:
    (found,) = load(SAMPLES / name)
    assert isinstance(found, Capture)
    return found


def test_it_is_led_to_the_code_generator_and_two_lines() -> None:
    found = stage_differences(_sample("layer_norm-b200-3.6"), _sample("layer_norm-b200-3.7"))
    llir, ptx = found
    assert (llir.stage, ptx.stage) == ("llir", "ptx")
    assert llir.differing < 10 < ptx.differing
    assert ptx.came == {"add.rn.f32.f16": 31, "sub.rn.f32.f16": 32}
    assert ptx.went["cvt.f32.f16"] == 31
    codes = [each.code for each in ptx.lines[:2]]
    assert any("tl.sum(x" in code for code in codes)
    assert any("x - mean" in code for code in codes)


def test_a_capture_does_not_differ_from_itself() -> None:
    one = _sample("layer_norm-b200-3.7")
    for each in stage_differences(one, one):
        assert (each.differing, each.came, each.went, each.lines) == (0, {}, {}, [])


@pytest.mark.skipif(Version(triton_version()) < Version("3.7"), reason="ptxas reads no such PTX")
def test_writing_the_conversions_out_takes_the_registers_back(tmp_path: Path) -> None:
    ptx = _sample("layer_norm-b200-3.7").stages["ptx"].text()
    mixed = re.compile(r"(add|sub)\.rn\.f32\.f16\s+(\S+), (\S+), (\S+);")
    numbers = iter(range(1000))

    def apart(match: re.Match[str]) -> str:
        operation, result, half, other = match.groups()
        name = f"%wide{next(numbers)}"
        return f"cvt.f32.f16 {name}, {half};\n\t{operation}.f32 {result}, {name}, {other};"

    edited = mixed.sub(apart, ptx)
    declared = edited.replace(".reg .pred", ".reg .b32 %wide<1000>;\n\t.reg .pred", 1)
    assert _registers(ptx, tmp_path) == 72
    assert _registers(declared, tmp_path) == 64


def _registers(ptx: str, folder: Path) -> int:
    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    ptxas = Path(spec.origin).parent / "backends/nvidia/bin/ptxas-blackwell"
    path = folder / "kernel.ptx"
    path.write_text(ptx)
    ran = subprocess.run(
        [ptxas, "-v", "--gpu-name=sm_100a", path, "-o", folder / "kernel.cubin"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    used = re.search(r"Used (\d+) registers", ran.stderr)
    assert used is not None
    return int(used[1])
