"""The units of instructions, against the schedules that ptxas writes for data-center Blackwell."""

from itertools import pairwise
from pathlib import Path

import pytest

import irlens
from irlens import gpus
from irlens.analyze.time import units
from irlens.analyze.time.cta_timeline import tensor_cycles
from irlens.artifacts import cubin, tools
from irlens.isa import sass
from irlens.isa.sass import Instruction
from irlens.isa.sass.control import decode_all

B200 = gpus.find("b200")


def apart(*binaries: bytes) -> dict[str, tuple[int, Instruction]]:
    """Return the fewest cycles from an instruction to the next of its opcode, and one of these."""
    least: dict[str, tuple[int, Instruction]] = {}
    for binary in binaries:
        code = cubin.code_sections(binary)
        for section in sass.parse(tools.disassemble(binary)).sections:
            fields = decode_all(code[section.name])
            for (one, two), control in zip(pairwise(section.instructions), fields, strict=False):
                if one.opcode == two.opcode:
                    found = least.get(one.opcode)
                    if found is None or control.stall < found[0]:
                        least[one.opcode] = control.stall, one
    return least


def arithmetic(operation: str, type_: str, sources: int) -> str:
    """Return PTX that computes eight independent results."""
    registers = {"f32": "%f", "f32x2": "%d"}[type_]
    bytes_ = {"f32": 4, "f32x2": 8}[type_]
    plain = f"b{8 * bytes_}"
    loads = "".join(f"ld.global.{plain} {registers}{n}, [%a+{bytes_ * n}];\n" for n in range(11))
    results = "".join(
        f"{operation}.rn.{type_} {registers}{n + 16}, "
        f"{', '.join(f'{registers}{n + source}' for source in range(sources))};\n"
        for n in range(8)
    )
    stores = "".join(
        f"st.global.{plain} [%a+{bytes_ * n}], {registers}{n + 16};\n" for n in range(8)
    )
    return (
        ".version 8.6\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) {\n.reg .b64 %a; .reg .f32 %f<32>; .reg .b64 %d<32>;\n"
        f"ld.param.u64 %a, [p];\n{loads}{results}{stores}ret;\n}}\n"
    )


@pytest.mark.parametrize("type_", ["f32", "f32x2"])
@pytest.mark.parametrize(("operation", "sources"), [("add", 2), ("mul", 2), ("fma", 3)])
def test_arithmetic_is_issued_as_often_as_its_unit_takes_it(
    operation: str, sources: int, type_: str, tmp_path: Path
) -> None:
    """Two floats a lane take two cycles: otherwise 128 lanes would exceed the vendor's peak."""
    assert B200.timing is not None
    (tmp_path / "k.ptx").write_text(arithmetic(operation, type_, sources))
    arguments = ["-arch=sm_100a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    tools.run(tools.find("ptxas-blackwell"), arguments)
    opcode = f"F{operation.upper()}" + ("2" if "x2" in type_ else "")
    cycles, each = apart((tmp_path / "k.cubin").read_bytes())[opcode]
    assert units.unit(each) == "fma"
    assert cycles == B200.timing.fma * units.issues(each)


def test_products_of_single_warps_are_issued_at_their_rate() -> None:
    timing, rates = B200.timing, B200.rates
    assert timing is not None
    assert rates is not None
    capture = irlens.capture(
        "matmul_tiled", target="b200", num_warps=4,
        BLOCK_SIZE_M=32, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32,
    )  # fmt: skip
    cycles, product = apart(capture.stages["cubin"].read())["HMMA"]
    of_sm = tensor_cycles(product, timing, rates.tensor["fp16"] / 2)
    assert cycles == of_sm * B200.arch.partitions
