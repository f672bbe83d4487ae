import importlib.util
import io
import json
import re
import struct
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.artifacts import cubin, elf
from irlens.model.errors import ArtifactError

DATA = Path(__file__).parent.parent / "data"
ARCHIVES = ("cubin/triton.tar.xz", "cubin/kinds.tar.xz", "h200/triton-cache.tar.xz")

# Assembled in the tests by the ptxas at hand, so that its own account of them is the oracle.
PTX = """
.version {version}
.target {target}
.address_size 64
.shared .align 4 .b8 scratch[200];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry first(.param .u64 p, .param .u32 n) .reqntid 96
{{
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  st.shared.u32 [scratch+100], %r1;
  bar.sync 5;
  ld.shared.u32 %r2, [scratch+4];
  st.global.u32 [%rd1], %r2;
  ret;
}}
.visible .entry second(.param .u64 p) .maxntid 128, 2, 1
{{
  .local .align 8 .b8 array[80];
  .reg .b64 %rd<5>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r1, [%rd1];
  mov.u64 %rd2, array;
  cvt.u64.u32 %rd3, %r1;
  add.u64 %rd4, %rd2, %rd3;
  st.local.u32 [%rd4], %r1;
  ld.local.u32 %r2, [array+8];
  st.global.u32 [%rd1], %r2;
  ret;
}}
"""


def _nvidia_tool(name: str) -> Path:
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        pytest.skip("Triton, which carries NVIDIA's tools, is not installed")
    return Path(spec.origin).parent / "backends" / "nvidia" / "bin" / name


@cache
def _files(archive: str) -> dict[str, bytes]:
    with tarfile.open(DATA / archive) as tar:
        members = [member for member in tar if member.name.endswith(".cubin")]
        return {member.name: _content(tar, member) for member in members}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


@pytest.fixture(scope="module")
def softmax() -> bytes:
    return _files("cubin/triton.tar.xz")["./softmax.sm_90.triton-3.6.0.cubin"]


def _kernel(data: bytes, name: str) -> cubin.Kernel:
    return next(kernel for kernel in cubin.read(data).kernels if kernel.name == name)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_agrees_with_cuobjdump(archive: str, tmp_path: Path) -> None:
    cuobjdump = _nvidia_tool("cuobjdump")
    seen = 0
    for data in _files(archive).values():
        path = tmp_path / "x.cubin"
        path.write_bytes(data)
        out = subprocess.run(
            [cuobjdump, "-res-usage", "-elf", path], capture_output=True, text=True, check=True
        ).stdout
        file = cubin.read(data)
        usage = dict(re.findall(r"Function (\S+):\n\s+(REG.*?) TEXTURE", out))
        assert {kernel.name: _usage(kernel) for kernel in file.kernels} == usage
        assert [f"sm={file.arch.removeprefix('sm_')}" if file.arch else None] == re.findall(
            r"\bsm=\d+", out
        )
        for kernel in file.kernels:
            assert not kernel.doubts
            seen += 1
    assert seen >= {"cubin/triton.tar.xz": 31, "cubin/kinds.tar.xz": 30}.get(archive, 31)


def _usage(kernel: cubin.Kernel) -> str:
    """Write a kernel's resources as cuobjdump does."""
    banks = sorted((kernel.constant_bytes or {}).items(), reverse=True)
    static, reserved = kernel.static_shared_bytes, kernel.reserved_shared_bytes
    assert static is not None
    assert reserved is not None
    return " ".join(
        [
            f"REG:{kernel.registers}",
            f"STACK:{kernel.stack_bytes}",
            f"SHARED:{static + reserved}",
            f"LOCAL:{kernel.local_section_bytes}",
            *(f"CONSTANT[{bank}]:{size}" for bank, size in banks),
        ]
    )


def test_agrees_with_the_driver() -> None:
    truth = json.loads((DATA / "h200" / "truth.json").read_text())
    files = _files("h200/triton-cache.tar.xz")
    for expected in truth["kernels"]:
        kernel = _kernel(files[expected["path"]], expected["name"])
        assert kernel.registers == expected["regs"]
        assert kernel.local_bytes == expected["local"]
        assert kernel.static_shared_bytes == expected["shared"]
        assert kernel.required_threads == (32 * expected["num_warps"], 1, 1)
    assert len(truth["kernels"]) == 31


def test_agrees_with_the_driver_on_what_triton_does_not_emit() -> None:
    file = cubin.read(_files("cubin/kinds.tar.xz")["./kinds.sm_90a.cubin"])
    driver = json.loads((DATA / "cubin" / "driver.json").read_text())
    assert {kernel.name for kernel in file.kernels} == set(driver)
    for kernel in file.kernels:
        expected = driver[kernel.name]
        assert kernel.registers == expected["regs"]
        assert kernel.local_bytes == expected["local"]
        assert kernel.static_shared_bytes == expected["shared"]
        if kernel.max_threads is not None:
            assert kernel.max_threads[0] == expected["max_threads"]
        # 64 barriers per SM, and 16 blocks of 128 threads by the limit of 2,048 threads.
        assert min(16, 64 // (kernel.barriers or 1)) == expected["blocks_128"]


@pytest.mark.parametrize("assembler", ["ptxas", "ptxas-blackwell"])
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_120"])
def test_agrees_with_the_assembler(assembler: str, target: str, tmp_path: Path) -> None:
    source, binary = tmp_path / "x.ptx", tmp_path / "x.cubin"
    source.write_text(PTX.format(target=target, version="8.7" if "12" in target else "8.0"))
    log = subprocess.run(
        [_nvidia_tool(assembler), "-v", f"-arch={target}", source, "-o", binary],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    file = cubin.read(binary.read_bytes())
    assert file.arch == target.removesuffix("a")
    for kernel in file.kernels:
        _, _, account = log.partition(f"Compiling entry function '{kernel.name}'")
        account = account.partition("Compile time")[0]
        assert kernel.frame_bytes == _figure(r"(\d+) bytes stack frame", account)
        assert kernel.registers == _figure(r"Used (\d+) registers", account)
        assert kernel.barriers == _figure(r"used (\d+) barriers", account)
        assert kernel.static_shared_bytes == _figure(r"(\d+) bytes smem", account)
        assert kernel.stack_bytes == _figure(r"(\d+) bytes cumulative stack", account)
    first, second = file.kernels
    assert (first.required_threads, first.max_threads) == ((96, 1, 1), None)
    assert (second.required_threads, second.max_threads) == (None, (128, 2, 1))
    assert [(each.offset, each.size) for each in first.parameters] == [(0, 8), (8, 4)]
    assert (first.barriers, second.frame_bytes) == (6, 80)


def _figure(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


def test_what_triton_does_not_emit() -> None:
    data = _files("cubin/kinds.tar.xz")["./kinds.sm_90a.cubin"]
    assert _kernel(data, "cluster").cluster == (2, 1, 1)
    assert _kernel(data, "capped").max_registers == 40
    big = _kernel(data, "big")
    assert [(each.offset, each.size) for each in big.parameters] == [(0, 20000), (20000, 8)]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_elf_agrees_with_pyelftools(archive: str) -> None:
    for data in _files(archive).values():
        theirs, ours = ELFFile(io.BytesIO(data)), elf.read(data)
        assert [(s.name, s["sh_offset"], s["sh_size"]) for s in theirs.iter_sections()] == [
            (s.name, s.offset, s.size) for s in ours.sections
        ]
        table = theirs.get_section_by_name(".symtab")
        assert [(s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()] == [
            (s.name, s.value, s.size) for s in ours.symbols()
        ]


def test_unknown_attributes_are_kept(softmax: bytes) -> None:
    at = softmax.index(struct.pack("<BBH", 4, 0x1C, 4))  # EIATTR_EXIT_INSTR_OFFSETS
    strange = softmax[: at + 1] + b"\xee" + softmax[at + 2 :]
    before, after = (cubin.read(each).kernels[0].attributes for each in (softmax, strange))
    assert [each.value for each in before] == [each.value for each in after]


def _bad() -> list[tuple[bytes, str]]:
    good = _files("cubin/triton.tar.xz")["./softmax.sm_90.triton-3.6.0.cubin"]
    table = struct.unpack_from("<Q", good, 40)[0]
    sections = good[table : table + 64 * struct.unpack_from("<H", good, 60)[0]] * 1000
    count = len(sections) // 64 % 65536
    many = good[:40] + struct.pack("<Q", len(good)) + good[48:60] + struct.pack("<H", count)
    return [
        (many + good[62:] + sections, "its sections overlap"),
        (b"", "does not start as a 64-bit little-endian ELF"),
        (b"//\n// Generated by LLVM", "does not start as a 64-bit little-endian ELF"),
        (good[:20], "the header is cut short"),
        (good[:5000], "the section table reaches past the end"),
        (good[:18] + b"\xe0\x00" + good[20:], "not a cubin: its machine is 224"),
        (good.replace(b"\x04\x37\x04\x00", b"\x09\x37\x04\x00", 1), "makes no sense at byte 0"),
    ]


@pytest.mark.parametrize(("data", "message"), _bad())
def test_what_is_wrong_is_said_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=re.escape(message)) as caught:
        cubin.read(data)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@settings(max_examples=300)
@given(st.data())
def test_damage_is_an_artifact_error_and_nothing_else(draw: st.DataObject) -> None:
    good = _files("cubin/kinds.tar.xz")["./kinds.sm_75.cubin"]
    (table,) = struct.unpack_from("<Q", good, 40)
    # Most bytes are code and debug text; what the reader follows is the header, the section
    # table at the end, and the small sections before the code.
    place = st.integers(0, 63) | st.integers(table, len(good) - 1) | st.integers(0, len(good) - 1)
    damaged = bytearray(good)
    for at, value in draw.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=8)):
        damaged[at] = value
    if draw.draw(st.booleans()):
        del damaged[draw.draw(place) :]
    try:
        message = ""
        cubin.read(bytes(damaged))
    except ArtifactError as error:
        message = error.message
    assert "\n" not in message


def test_attributes_without_end_are_refused(softmax: bytes) -> None:
    """Each one is an object: 15 MB of them took 1.5 GB."""
    file = elf.read(softmax)
    (number, section) = next(
        (number, each) for number, each in enumerate(file.sections) if each.name == ".nv.info"
    )
    many = b"\x01\x37\x00\x00" * (cubin._MOST_ATTRIBUTES + 1)
    damaged = bytearray(softmax)
    at = struct.unpack_from("<Q", softmax, 40)[0] + 64 * number + 24
    struct.pack_into("<QQ", damaged, at, len(softmax), len(many))
    assert section.size < len(many)
    with pytest.raises(ArtifactError, match=r"\.nv\.info makes no sense at byte 400000"):
        cubin.read(bytes(damaged) + many)
