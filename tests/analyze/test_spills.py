"""Spills against the compilers' own counts."""

import lzma
import re
import tarfile
from functools import cache
from pathlib import Path

import pytest

from irlens.analyze import cfg, sass_cfg
from irlens.analyze.spills import find_spills
from irlens.isa import amdgcn, sass
from irlens.model.resources import SpillSite

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
    return find_spills(function, cfg.build(function))


@pytest.mark.parametrize("name", sorted(_texts()))
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
    sites = find_spills(section, sass_cfg.build(section))
    assert [(site.kind, site.bytes, site.loop_depth) for site in sites] == [
        ("store", 8, 0),
        ("load", 4, 1),
        ("load", 16, 1),
        ("store", 1, 1),
    ]
    assert [site.line for site in sites] == [3, 5, 6, 7]
    assert {(site.stage, site.place, site.source) for site in sites} == {("sass", "memory", None)}


@pytest.mark.parametrize("path", sorted((DATA / "sass").glob("*.sass.xz")), ids=lambda p: p.name)
def test_every_access_to_local_memory_is_found(path: Path) -> None:
    text = lzma.decompress(path.read_bytes()).decode()
    (section,) = sass.parse(text).sections
    written = len(re.findall(r"\*/ +(?:@!?U?P\w+ +)?(?:STL|LDL)\b", text))
    assert len(find_spills(section, sass_cfg.build(section))) == written
