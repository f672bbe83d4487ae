"""A damaged byte in the tables of a binary changes no figure: it is kept, unknown, or refused."""

import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.analyze.resources import find_gpu, find_occupancy, read_demand
from irlens.artifacts import elf
from irlens.artifacts.load import load_bytes
from irlens.model.errors import IrlensError

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
NAMED = (".symtab", ".strtab", ".shstrtab", ".dynsym", ".dynstr")
NOTE_HEADER = 20
DESCRIPTOR = 64
#: Each bit of a byte, and all of them; the next byte gets the next one.
FLIPS = (*(1 << bit for bit in range(8)), 0xFF)
#: The number in the shared attributes of a cubin that no other place repeats, from sm_90 on.
VALUES = {"registers"}


def tables(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the header, each table, and the headers of notes and attributes: name, begin, end."""
    file = elf.read(data)
    segments, sections = struct.unpack_from("<QQ", data, 32)
    count_of_segments, _, count_of_sections = struct.unpack_from("<HHH", data, 56)
    yield "header", 0, 64
    yield "segments", segments, segments + 56 * count_of_segments
    yield "sections", sections, sections + 64 * count_of_sections
    for section in file.sections:
        if section.name in NAMED or section.name.startswith(".nv.info"):
            yield section.name, section.offset, section.offset + section.size
        elif section.type == elf.SHT_NOTE:
            yield section.name, section.offset, section.offset + NOTE_HEADER
        elif section.name == ".rodata":
            yield section.name, section.offset, section.offset + DESCRIPTOR


def figures(data: bytes, name: str) -> tuple[dict[str, object], dict[str, str]]:
    """Return the figures of a binary, and why others are unknown."""
    captures = list(load_bytes(data, name=name))
    capture = next((each for each in captures if each.kernel == name), captures[0])
    provenance = Provenance()
    gpu = find_gpu(capture.target, capture.metadata, provenance)
    demand = read_demand(CaptureCode(capture), gpu, provenance)
    occupancy = find_occupancy(capture, gpu, demand, provenance)
    found = msgspec.structs.asdict(demand.resources)
    found["occupancy"] = occupancy and (occupancy.blocks_per_sm, occupancy.limits)
    unknown = {path.removeprefix("resources."): why for path, why in provenance.unknown.items()}
    return found, unknown


@pytest.mark.parametrize(
    "name",
    ["softmax-h100/softmax_kernel.cubin", "softmax-t4/softmax_kernel.cubin",
     "matmul-b200/matmul_kernel.cubin", "softmax-mi300x/softmax_kernel.hsaco"],
)  # fmt: skip
def test_no_damaged_table_changes_a_figure(name: str) -> None:
    path = CAPTURES / name
    data = path.read_bytes()
    right, _ = figures(data, path.stem)
    changed: list[str] = []
    for table, begin, end in tables(data):
        for at in range(begin, end):
            flip = FLIPS[at % len(FLIPS)]
            damaged = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
            try:
                found, unknown = figures(damaged, path.stem)
            except IrlensError:
                continue
            for figure, value in right.items():
                if found[figure] == value or (found[figure] is None and figure in unknown):
                    continue
                if not (table == ".nv.info" and figure in VALUES and found[figure] is not None):
                    changed.append(f"{table}+{at - begin} ^ {flip:#x}: {figure} {found[figure]}")
    assert not changed, "\n".join(changed[:20])


def test_a_count_that_is_gone_is_unknown() -> None:
    path = CAPTURES / "softmax-mi300x" / "softmax_kernel.hsaco"
    data = path.read_bytes()
    assert data.count(b".agpr_count") == 1
    found, unknown = figures(data.replace(b".agpr_count", b".bgpr_count"), path.stem)
    assert found["agprs"] is None
    assert unknown["agprs"] == "the note does not count them"
