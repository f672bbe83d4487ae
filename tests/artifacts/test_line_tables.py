"""Line tables: damaged ones are refused or read in bounded time; nvdisasm is the oracle elsewhere.

``test_code_listings`` compares the lines of tens of thousands of instructions with nvdisasm's.
"""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.artifacts import elf, line_tables
from irlens.model.errors import ArtifactError

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
(CUBIN,) = (CAPTURES / "matmul-a100").glob("*.cubin")
DATA = CUBIN.read_bytes()
FILE = elf.read(DATA)
TABLES = [s for s in FILE.sections if s.name in (".debug_line", ".nv_debug_line_sass")]


def with_byte(at: int, value: int) -> elf.Elf:
    return msgspec.structs.replace(FILE, data=DATA[:at] + bytes([value]) + DATA[at + 1 :])


def test_a_line_has_its_source_and_its_ptx() -> None:
    (lines,) = line_tables.read(FILE).values()
    source, ptx = lines[0]
    assert source.file.endswith(".py")
    assert ptx.file == line_tables.PTX_FILE
    inlined = [line for some in lines.values() for line in some if line.inlined_at is not None]
    assert {line.file for line in inlined} == {"standard.py"}
    assert all(len(list(line.frames())) > 1 for line in inlined)


@given(
    st.sampled_from(TABLES).flatmap(
        lambda table: st.integers(table.offset, table.offset + table.size - 1)
    ),
    st.integers(0, 255),
)
def test_a_damaged_table_is_read_or_refused(at: int, value: int) -> None:
    try:
        tables = line_tables.read(with_byte(at, value))
    except ArtifactError:
        return
    for lines in tables.values():
        for line in (each for some in lines.values() for each in some):
            assert all(not set('"\n\r').intersection(f.file) for f in line.frames())


@pytest.mark.parametrize("version", [1, 3, 4, 5])
def test_another_version_is_refused(version: int) -> None:
    for table in TABLES:
        with pytest.raises(ArtifactError, match=f"DWARF {version} instead of 2"):
            line_tables.read(with_byte(table.offset + 4, version))


def test_a_name_cannot_end_its_line() -> None:
    at = DATA.index(b"standard.py\0")
    (lines,) = line_tables.read(with_byte(at, ord("\n"))).values()
    names = {line.file for some in lines.values() for line in some}
    assert "?tandard.py" in names
