import re
import tarfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens import gpus as arch
from irlens.analyze.occupancy import Usage, warps_by_registers
from irlens.artifacts import hsaco
from irlens.model.errors import ArtifactError
from tests.tables import each_row

DATA = Path(__file__).parent.parent / "data" / "amd"


@cache
def _files(archive: str = "triton") -> dict[str, bytes]:
    with tarfile.open(DATA / f"{archive}.tar.xz") as tar:
        files = {}
        for member in tar:
            file = tar.extractfile(member)
            if file is not None:
                files[member.name.removeprefix("./")] = file.read()
        return files


def _names() -> list[str]:
    return sorted(name for name in _files() if name.endswith(".hsaco"))


@each_row("name", _names())
def test_agrees_with_the_assembly(name: str) -> None:
    file = hsaco.read(_files()[name])
    (kernel,) = file.kernels
    text = _files()[name.replace(".hsaco", ".amdgcn")].decode()

    def comment(label: str) -> int:
        match = re.search(rf"^; {label}: (\d+)", text, re.MULTILINE)
        assert match, label
        return int(match[1])

    def directive(label: str) -> int:
        match = re.search(rf"^\s*\.amdhsa_{label} (\d+)", text, re.MULTILINE)
        assert match, label
        return int(match[1])

    assert file.target is not None
    assert f'.amdgcn_target "{file.target}"' in text
    assert file.arch == name.split(".")[1]
    assert f".amdhsa_kernel {kernel.name}\n" in text
    assert kernel.registers == directive("next_free_vgpr")
    assert kernel.registers == comment("NumVGPRsForWavesPerEU")
    assert kernel.sgprs == comment("TotalNumSgprs")
    assert kernel.scratch_bytes == comment("ScratchSize")
    assert kernel.lds_bytes == comment("LDSByteSize")
    assert kernel.kernarg_bytes == directive("kernarg_size")
    if kernel.agprs is None:
        assert "; NumAgprs:" not in text
        assert kernel.vgprs == comment("NumVgprs")
    else:
        assert kernel.registers == comment("TotalNumVgprs")
        assert kernel.agprs == comment("NumAgprs")
        if kernel.vgprs is None:
            assert kernel.agprs >= comment("NumVgprs")
        else:
            assert 0 <= kernel.vgprs - comment("NumVgprs") < (4 if kernel.agprs else 1)
    # LLVM's own length is an estimate from above: relaxed branches come out shorter.
    (length,) = re.findall(r"^; codeLenInByte = (\d+)", text, re.MULTILINE)
    assert kernel.code_bytes is not None
    assert int(length) - 64 <= kernel.code_bytes <= int(length)


def test_registers_of_both_kinds_share_one_file_or_do_not() -> None:
    def kernel(name: str) -> hsaco.Kernel:
        return hsaco.read(_files()[f"{name}.triton-3.9.0.hsaco"]).kernels[0]

    unified, separate = kernel("wide.gfx90a"), kernel("wide.gfx908")
    assert (unified.registers, unified.vgprs, unified.agprs) == (272, 256, 16)
    assert (separate.registers, separate.vgprs, separate.agprs) == (175, 175, 128)
    assert kernel("softmax.gfx1100").agprs is None


def _granule(name: str) -> int:
    granule = arch.by_arch(name.split(".")[1]).arch.register_granule
    assert granule is not None
    return granule


@each_row("name", _names())
def test_granules_hold_what_llvm_allocates(name: str) -> None:
    (kernel,) = hsaco.read(_files()[name]).kernels
    assert kernel.register_granules == -(-kernel.registers // _granule(name))


@pytest.mark.parametrize(("name", "waves"), [("waves2.gfx942", 2), ("waves2.gfx1100", 5)])
def test_allocation_is_padded_where_waves_are_capped(name: str, waves: int) -> None:
    files = _files("waves_per_eu")
    (kernel,) = hsaco.read(files[f"{name}.hsaco"]).kernels
    text = files[f"{name}.amdgcn"].decode()
    (next_free,) = re.findall(r"\.amdhsa_next_free_vgpr (\d+)", text)
    assert f"; Occupancy: {waves}\n" in text
    assert kernel.register_granules is not None
    allocated = kernel.register_granules * _granule(name)
    assert 0 <= allocated - int(next_free) < _granule(name)
    assert kernel.registers < allocated // 4
    row = arch.by_arch(name.split(".")[1]).arch
    usage = Usage(threads=row.warp_size, registers=allocated, shared_bytes=0)
    assert warps_by_registers(row, usage) == waves


def test_spills() -> None:
    (kernel,) = hsaco.read(_files()["wider.gfx942.triton-3.9.0.hsaco"]).kernels
    text = _files()["wider.gfx942.triton-3.9.0.amdgcn"].decode()
    assert f".vgpr_spill_count: {kernel.vgpr_spills}\n" in text
    assert f".sgpr_spill_count: {kernel.sgpr_spills}\n" in text
    assert kernel.vgpr_spills
    assert kernel.scratch_bytes


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_workgroup(arch: str) -> None:
    (kernel,) = hsaco.read(_files()[f"softmax.{arch}.triton-3.6.0.hsaco"]).kernels
    wave = 64 if arch.startswith("gfx9") else 32
    assert kernel.max_workgroup_size == 8 * wave
    assert kernel.required_workgroup_size is None


def _bad() -> list[tuple[bytes, str]]:
    good = _files()["softmax.gfx942.triton-3.9.0.hsaco"]
    return [
        (b"", "does not start as a 64-bit little-endian ELF"),
        (good[:18] + b"\xbe\x00" + good[20:], "not an AMD code object: its machine is 190"),
        (good.replace(b"AMDGPU\0", b"NVIDIA\0", 1), "no metadata note"),
        (good.replace(b".vgpr_count", b".vgpr_c0unt", 1), "missing required field `.vgpr_count`"),
        (good.replace(b"\xaeamdhsa.kernels", b"\xc1amdhsa.kernels", 1), "makes no sense"),
        (good[:-200], "the section table reaches past the end"),
    ]


@pytest.mark.parametrize(("data", "message"), _bad())
def test_what_is_wrong_is_said_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=re.escape(message)) as caught:
        hsaco.read(data)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_metadata_nested_without_end_is_refused() -> None:
    good = _files()["softmax.gfx942.triton-3.9.0.hsaco"]
    at = good.index(b".args") + len(b".args")
    size = 1500
    nested = good[:at] + b"\x91" * size + good[at + size :]
    with pytest.raises(ArtifactError, match="makes no sense"):
        hsaco.read(nested)


@settings(max_examples=300)
@given(st.data())
def test_damage_is_an_artifact_error_and_nothing_else(draw: st.DataObject) -> None:
    good = _files()["matmul.gfx942.triton-3.9.0.hsaco"]
    # The header, the program headers, the note, the dynamic symbols and the descriptor come first.
    place = st.integers(0, 3000) | st.integers(len(good) - 2000, len(good) - 1)
    damaged = bytearray(good)
    for at, value in draw.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=8)):
        damaged[at] = value
    if draw.draw(st.booleans()):
        del damaged[draw.draw(place) :]
    try:
        message = ""
        hsaco.read(bytes(damaged))
    except ArtifactError as error:
        message = error.message
    assert "\n" not in message
