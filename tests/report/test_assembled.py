"""PTX without metadata: the ptxas at hand says what it needs."""

import re
import subprocess
from pathlib import Path

import pytest
import triton

from irlens import inspect, load
from irlens.artifacts import tools
from irlens.model.capture import Disassembly
from irlens.model.errors import ToolError
from irlens.model.report import Report
from irlens.session.reports import report_of

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n"
KERNEL = """
.visible .entry %s(.param .u64 p) %s
{
  .shared .align 4 .b8 buffer[512];
  .reg .b64 %%rd<3>; .reg .b32 %%r<3>;
  ld.param.u64 %%rd1, [p];
  mov.u32 %%r1, %%tid.x;
  st.shared.u32 [buffer+8], %%r1;
  ld.shared.u32 %%r2, [%s+4];
  st.global.u32 [%%rd1], %%r2;
  ret;
}
"""


@pytest.fixture(autouse=True)
def _needs_ptxas() -> None:
    try:
        tools.find("ptxas")
    except ToolError:
        pytest.skip("there is no ptxas")


def reports(folder: Path, text: str) -> list[Report]:
    path = folder / "k.ptx"
    path.write_text(text)
    return [inspect(capture) for capture in load(path)]


def test_registers_and_memory_are_those_of_ptxas(tmp_path: Path) -> None:
    text = HEAD + KERNEL % ("one", ".maxntid 256, 1, 1", "buffer")
    text += KERNEL % ("two", ".reqntid 64", "dyn") + KERNEL % ("three", "", "buffer")
    one, two, three = reports(tmp_path, text)
    told = subprocess.run(
        [tools.find("ptxas"), "-arch=sm_80", "-v", "-o", "/dev/null", tmp_path / "k.ptx"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    used = re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", told.stderr, re.DOTALL)
    expected = {name: int(registers) for name, registers in used}
    assert {each.kernel: each.resources.registers for each in (one, two, three)} == expected
    assert [each.resources.shared_static_bytes for each in (one, two, three)] == [512] * 3
    # 64 warps fit an SM of sm_80, eight a CTA of 256 threads.
    assert one.occupancy is not None
    assert (one.resources.shared_dynamic_bytes, one.occupancy.blocks_per_sm) == (0, 8)
    assert (two.resources.shared_dynamic_bytes, two.occupancy) == (None, None)
    assert three.unknown["occupancy"] == "the CTA's size is not known"
    assert re.search(r"ptxas \d+\.\d+ made one of the ptx", one.sources["stages"])
    assert "cubin" not in one.stages


@pytest.mark.skipif(triton.__version__ < "3.9", reason="its ptxas knows no PTX 9.4")
def test_what_triton_compiled_needs_the_same_again(tmp_path: Path) -> None:
    for name in ("softmax-h100", "matmul-a100", "spill-h100"):
        (whole,) = load(CAPTURES / name)
        (ptx,) = reports(tmp_path, whole.stages["ptx"].text())
        expected = inspect(whole).resources
        assert (ptx.resources.registers, ptx.resources.local_bytes) == (
            expected.registers, expected.local_bytes,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ld.global.u32 %r1, [%rd1];\n", "the ptx is an excerpt, which no ptxas assembles"),
        (
            HEAD.replace("8.0", "99.0") + KERNEL % ("k", "", "dyn"),
            "ptxas does not assemble the ptx",
        ),
        (HEAD + KERNEL % ("k", "", "nowhere"), "ptxas does not assemble the ptx"),
    ],
)
def test_what_cannot_be_assembled_has_unknown_registers(
    tmp_path: Path, text: str, reason: str
) -> None:
    (report,) = reports(tmp_path, text)
    assert report.resources.registers is None
    assert report.unknown["resources.registers"].startswith(reason)


def test_live_registers_are_those_of_the_assembled_cubin(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(HEAD + KERNEL % ("one", "", "buffer"))
    (capture,) = load(path)
    found = report_of(capture, Disassembly.TRY)
    assert found.pressure.sass is not None
    assert found.pressure.sass.peak
    assert "pressure.sass" not in found.unknown


def test_ptx_that_takes_ptxas_too_long_is_not_assembled(tmp_path: Path) -> None:
    (report,) = reports(tmp_path, HEAD + KERNEL % ("one", "", "buffer") + "// more\n" * 130_000)
    assert report.resources.registers is None
    reason = "the ptx has 1.0 MB; irlens assembles 1.0 MB at most, since ptxas takes too long"
    assert report.unknown["resources.registers"] == reason
