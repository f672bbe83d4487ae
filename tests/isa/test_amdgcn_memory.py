"""Every memory instruction that LLVM's assembler names has its width, or makes an access unknown.

``tests/data/amd/memory_mnemonics.csv`` has the widths that LLVM's operands imply.
"""

import csv
from pathlib import Path

import pytest

from irlens.isa.amdgcn import Instruction, parse
from irlens.isa.amdgcn.memory import access_bytes, global_access, transfer
from irlens.isa.amdgcn.units import classify

pytestmark = pytest.mark.stored

TABLE = Path(__file__).parents[1] / "data" / "amd" / "memory_mnemonics.csv"
ROWS = [
    (row["mnemonic"], row["direction"], int(width) if (width := row["bytes per lane"]) else None)
    for row in csv.DictReader(TABLE.read_text().splitlines())
]
#: Loads from buffers go to LDS where a modifier says so.
CLASSES = {
    "load": ("buffer load", "flat load", "global load"),
    "store": ("buffer store", "flat store", "global store"),
    "atomic": ("buffer atomic", "flat atomic", "global atomic"),
    "load to LDS": ("global to LDS",),
    "store from LDS": ("LDS to global", "buffer store"),
    "LDS load": ("LDS load",),
    "LDS store": ("LDS store",),
    "LDS atomic": ("LDS atomic",),
    "scalar load": ("scalar load",),
    "scalar store": ("scalar store",),
    "scalar atomic": ("scalar store",),
    "scratch load": ("scratch load",),
    "scratch store": ("scratch store",),
    "image": ("image",),
}


def _instruction(text: str) -> Instruction:
    (statement,) = parse(f"\t{text}\n").statements
    assert isinstance(statement, Instruction)
    return statement


def test_the_table_is_that_of_all_processors() -> None:
    rows = list(csv.DictReader(TABLE.read_text().splitlines()))
    assert len(rows) > 850
    processors = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250"}
    assert {each for row in rows for each in row["processors"].split()} == processors


@pytest.mark.parametrize("direction", sorted(CLASSES))
def test_each_memory_instruction_is_classified_and_has_its_width(direction: str) -> None:
    rows = [row for row in ROWS if row[1] == direction]
    assert rows
    for mnemonic, _, width in rows:
        kind = classify(_instruction(f"{mnemonic} v0, v1").operations[0])
        assert kind in CLASSES[direction], mnemonic
        assert access_bytes(mnemonic) == width, mnemonic


def test_each_access_to_global_memory_is_counted_or_named() -> None:
    directions = {
        "load": "load", "load to LDS": "load", "store": "store", "store from LDS": "store",
        "image": "unknown",
    }  # fmt: skip
    for mnemonic, direction, width in ROWS:
        # A transpose is as wide as its destination, of which the table has that of wave32.
        data = f"v[0:{width // 4 - 1}]" if width and width > 4 else "v0"
        expected = (directions[direction], width or mnemonic) if direction in directions else None
        assert global_access(_instruction(f"{mnemonic} {data}, v[40:41], off")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("buffer_load_sbyte v66, v10, s[20:23], 0 offen", ("load", 1)),
        ("buffer_load_ubyte v66, v10, s[20:23], 0 offen lds", ("load", 1)),
        ("buffer_store_byte v66, v10, s[20:23], 0 offen", ("store", 1)),
        ("global_store_short v[0:1], v2, off", ("store", 2)),
        ("global_store_byte_d16_hi v[0:1], v2, off", ("store", 1)),
        ("global_load_block v[0:31], v[40:41], off", ("load", "global_load_block")),
        ("tbuffer_load_format_x v0, v1, s[0:3], 0", ("load", "tbuffer_load_format_x")),
        ("image_load v[0:3], v0, s[0:7] dmask:0xf", ("unknown", "image_load")),
        # Not in any LLVM yet.
        ("global_gather_b32 v0, v[2:3], off", ("unknown", "global_gather_b32")),
        ("global_atomic_add_f32 v[0:1], v2, off", None),
        ("buffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill", None),
    ],
)
def test_accesses(text: str, expected: tuple[str, int | str] | None) -> None:
    assert global_access(_instruction(text)) == expected


def test_a_transposing_load_is_as_wide_as_its_destination() -> None:
    """The same instruction in a wave of 32 and of 64 lanes."""
    narrow = transfer(_instruction("global_load_tr_b128 v[0:1], v[4:5], off"))
    wide = transfer(_instruction("global_load_tr_b128 v[0:3], v[4:5], off"))
    assert narrow
    assert wide
    assert (narrow.bytes, wide.bytes) == (8, 16)
