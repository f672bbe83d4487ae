"""Spills against the compilers' own counts."""

import lzma
import re
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import pytest

from irlens.analyze import cfg, sass_cfg
from irlens.analyze.spills import Stack, find_spills, read_amdgcn, read_sass
from irlens.artifacts import tools
from irlens.isa import amdgcn, ptx, sass
from irlens.model.resources import SpillSite
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data"


@cache
def _texts() -> dict[str, str]:
    found = {}
    for archive in ("loops", "triton"):
        with tarfile.open(DATA / "amd" / f"{archive}.tar.xz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if file is not None and member.name.endswith(".amdgcn"):
                    found[member.name.removeprefix("./")] = file.read().decode()
    return found


def _sites(text: str) -> list[SpillSite]:
    (function,) = amdgcn.parse(text).functions
    counted = re.search(r"\.vgpr_spill_count: *(\d+)", text)
    stack = read_amdgcn(function, int(counted[1]) if counted else None)
    assert stack.unknown == ""
    return find_spills(function, stack.spills, cfg.build(function))


@each_row("name", sorted(_texts()))
def test_stores_are_what_llvm_counts(name: str) -> None:
    text = _texts()[name]
    (count,) = re.findall(r"\.vgpr_spill_count: *(\d+)", text)
    sites = _sites(text)
    assert sum(site.bytes or 0 for site in sites if site.kind == "store") == 4 * int(count)
    lines = text.splitlines()
    for site in sites:
        assert re.search("scratch_|Folded|Reload Reuse", lines[site.line - 1])
        assert site.stage == "amdgcn"


def test_places_and_loops() -> None:
    inside = _sites(_texts()["wider_s2.gfx942.amdgcn"])
    assert {(site.place, site.loop_depth, site.bytes) for site in inside} == {("memory", 1, 16)}
    assert {site.source.file for site in inside if site.source} == {"loops.py"}
    to_registers = _sites(_texts()["wider.gfx942.triton-3.9.0.amdgcn"])
    by_place = [(site.place, site.kind) for site in to_registers]
    assert by_place.count(("AGPR", "store")) == by_place.count(("AGPR", "load")) == 30
    assert by_place.count(("memory", "store")) == by_place.count(("memory", "load")) == 15
    assert [site.line for site in inside] == sorted(site.line for site in inside)


def test_scalar_registers_in_lanes() -> None:
    text = (
        "\t.type k,@function\nk:\n"
        "\tv_writelane_b32 v40, s30, 0\n"
        ".L1:\n"
        "\tv_readlane_b32 s4, v3, 63\n"  # a reduction's
        "\tv_readlane_b32 s30, v40, 0\n"
        "\ts_cbranch_scc1 .L1\n"
        "\tv_writelane_b32 v5, s1, m0\n"
        "\ts_endpgm\n"
    )
    found = [(site.line, site.kind, site.place, site.loop_depth) for site in _sites(text)]
    assert found == [(3, "store", "VGPR lane", 0), (6, "load", "VGPR lane", 1)]


def _section(*lines: str) -> sass.Section:
    text, offset = '\t.section\t.text.k,"ax",@progbits\nk:\n', 0
    for line in lines:
        if line.endswith(":"):
            text += line + "\n"
        else:
            text += f"        /*{offset:04x}*/  {line} ;\n"
            offset += 16
    (section,) = sass.parse(text).sections
    return section


def test_local_memory_in_sass() -> None:
    section = _section(
        "STL.64 [R1+0x8], R4",
        ".L_x_0:",
        "LDL.LU R4, [R1]",
        "LDL.128 R8, [R1+0x10]",
        "STL.U8 [R1], R3",
        "@P0 BRA `(.L_x_0)",
        "EXIT",
    )
    sites = find_spills(section, section.stack_accesses(), sass_cfg.build(section))
    assert [(site.kind, site.bytes, site.loop_depth) for site in sites] == [
        ("store", 8, 0),
        ("load", 4, 1),
        ("load", 16, 1),
        ("store", 1, 1),
    ]
    assert [site.line for site in sites] == [3, 5, 6, 7]
    assert {(site.stage, site.place, site.source) for site in sites} == {("sass", "memory", None)}


@each_row("path", sorted((DATA / "sass").glob("*.sass.xz")))
def test_every_access_to_local_memory_is_found(path: Path) -> None:
    text = lzma.decompress(path.read_bytes()).decode()
    (section,) = sass.parse(text).sections
    written = len(re.findall(r"\*/ +(?:@!?U?P\w+ +)?(?:STL|LDL)\b", text))
    sites = find_spills(section, section.stack_accesses(), sass_cfg.build(section))
    assert len(sites) == written


def _ptxas_counts(said: str) -> tuple[int, int]:
    """The bytes of spill stores and of spill loads, of all functions together."""
    found = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    return sum(int(stores) for stores, _ in found), sum(int(loads) for _, loads in found)


def _assemble(text: str, registers: int, folder: Path) -> tuple[sass.Section, str]:
    """Return machine code of at most so many registers, and what ``ptxas -v`` says of it."""
    source, cubin = folder / "k.ptx", folder / "k.cubin"
    source.write_text(re.sub(r"(\.reqntid [\d, ]+)", rf"\1 .maxnreg {registers}", text, count=1))
    done = subprocess.run(
        [tools.find("ptxas"), "-v", "-lineinfo", "-arch=sm_80", source, "-o", cubin],
        capture_output=True,
        text=True,
        check=True,
    )
    (section,) = sass.parse(tools.disassemble(cubin.read_bytes())).sections
    return section, done.stderr


@pytest.mark.parametrize("registers", [255, 64, 32])
@pytest.mark.parametrize("name", ["trig", "calls_wave", "asm_array"])
def test_bytes_are_those_of_ptxas(name: str, registers: int, tmp_path: Path) -> None:
    """Sines and cosines, the same in a called function, and arrays of inline assembly."""
    text = lzma.decompress((DATA / "spills" / f"{name}_36_sm80.ptx.xz").read_bytes()).decode()
    section, said = _assemble(text, registers, tmp_path)
    (kernel,) = ptx.parse(text).kernels
    stack = read_sass(section, kernel)
    assert stack.unknown == ""
    stores, loads = (
        sum(each.bytes or 0 for each in stack.spills if each.stores is wanted)
        for wanted in (True, False)
    )
    assert (stores, loads) == _ptxas_counts(said)
    assert (stores > 0) == (registers < 255)
    assert len(stack.arrays) > 20


FRAMES = """
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) factorial(.param .b32 n)
{
 .reg .pred %p<2>; .reg .b32 %r<5>;
 ld.param.b32 %r1, [n];
 mov.b32 %r3, 1; setp.lt.s32 %p1, %r1, 1; @%p1 bra $L1;
 add.s32 %r2, %r1, -1;
 { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), factorial, (a);
   ld.param.b32 %r3, [b]; }
 mad.lo.s32 %r3, %r3, %r1, %r2;
$L1: st.param.b32 [r], %r3; ret;
}
.visible .entry k(.param .u64 p, .param .u32 n)
.reqntid 32
{
 .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.b32 %r4, 0;
$L2:
 { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), factorial, (a);
   ld.param.b32 %r2, [b]; }
 st.global.u32 [%rd1], %r2;
 add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r1; @%p1 bra $L2;
 ret;
}
"""


def test_registers_that_a_recursive_function_saves(tmp_path: Path) -> None:
    """ptxas counts them as spilled; in how many loops is not known."""
    section, said = _assemble(FRAMES, 255, tmp_path)
    accesses = tuple(section.stack_accesses())
    bytes_of = {stores: sum(each.bytes or 0 for each in accesses if each.stores is stores)
                for stores in (True, False)}  # fmt: skip
    assert (bytes_of[True], bytes_of[False]) == _ptxas_counts(said) != (0, 0)
    sites = find_spills(section, accesses, sass_cfg.build(section))
    assert len(sites) == len(accesses)
    assert {site.loop_depth for site in sites} == {None}
    (kernel,) = ptx.parse(FRAMES).kernels
    assert read_sass(section, kernel).unknown == (
        "the stack may hold arrays of unknown size, or of functions that cannot be followed"
    )


def _stack_of(declared: str, *lines: str) -> Stack:
    (kernel,) = ptx.parse(f".visible .entry k() {{ {declared} ret; }}").kernels
    return read_sass(_section(*lines), kernel)


def test_what_cannot_be_told_apart_is_unknown() -> None:
    spill, indexed = "STL [R1+0x8], R4", "LDL R4, [R2]"
    array = ".local .align 4 .b8 depot[28];"
    assert len(_stack_of("", spill).spills) == 1
    assert _stack_of("", indexed).unknown
    assert _stack_of(array, spill).unknown  # the array may have been removed
    both = _stack_of(array, spill, indexed, "STL [R1+0x20], R4")
    assert [each.offset for each in both.arrays] == [8, None]
    assert [each.offset for each in both.spills] == [32]
    assert read_sass(_section(spill), None).unknown == ""
    assert read_sass(_section("MOV R2, R1", spill), None).unknown


def test_arrays_of_amd_are_no_spills() -> None:
    text = (
        "\t.type k,@function\nk:\n"
        "\tscratch_store_b32 off, v1, s32 offset:4\n"
        "\ts_clause 0x1 ; 8-byte Folded Spill\n"
        "\tscratch_store_b32 off, v2, s32 offset:8\n"
        "\tscratch_store_b32 off, v3, s32 offset:12\n"
        "\tscratch_load_b32 v2, off, s32 offset:8 ; 4-byte Folded Reload\n"
        "\tscratch_load_b32 v1, v0, off\n"
        "\ts_endpgm\n"
    )
    (function,) = amdgcn.parse(text).functions
    for count, calls, spilled in ((2, False, 3), (3, False, 5), (None, True, 3), (0, True, 3)):
        assert len(read_amdgcn(function, None if calls else count).spills) == spilled, count
    assert [each.index for each in read_amdgcn(function, 2).arrays] == [0, 5]
    assert read_amdgcn(function, 1).unknown


@pytest.mark.parametrize("name", ["outer_39_gfx942", "many_39_gfx1100", "nested_39_gfx942"])
def test_what_called_functions_of_amd_spill(name: str) -> None:
    """LLVM's own size of the stack is that of the deepest calls, with 4 bytes that are unused."""
    text = lzma.decompress((DATA / "calls" / f"{name}.amdgcn.xz").read_bytes()).decode()
    (kernel,) = amdgcn.parse(text).kernels
    stack = read_amdgcn(kernel, None)
    assert not stack.arrays
    sites = find_spills(kernel, stack.spills, cfg.build(kernel))
    marked = sum(int(n) for n in re.findall(r"(\d+)-byte Folded Spill", text))
    memory = [site for site in sites if site.place == "memory" and site.kind == "store"]
    assert sum(site.bytes or 0 for site in memory) == marked
