"""Reads the line tables of a cubin: which line of Python, and of PTX, an instruction comes from.

``.debug_line`` is the line number program of DWARF 2 (section 6.2 of the standard) for the source,
``.nv_debug_line_sass`` the same for the text of the PTX. NVIDIA adds an extended opcode for
inlined functions, which LLVM's ``BinaryFormat/Dwarf.def`` calls
``DW_LNE_NVIDIA_inlined_call``: the row that follows was inlined at an earlier row, given by number.
"""

import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from irlens.artifacts import elf
from irlens.model.errors import ArtifactError

_SOURCE, _PTX = ".debug_line", ".nv_debug_line_sass"
#: What nvdisasm calls the text of the PTX.
PTX_FILE = ".nv_debug_ptx_txt"
#: What cannot stand between quotes in a line of a listing.
_UNPRINTABLE = re.compile(r'["\x00-\x1f\x7f-\x9f\u2028\u2029]')
#: Frames of a chain of inlined functions that are followed.
_MOST_FRAMES = 64
_RELOCATIONS = {4: struct.Struct("<QQq"), 9: struct.Struct("<QQ")}
#: From the length of a table on: its version, and the length of its header.
_START = struct.Struct("<IHI")
_VERSION = 2


class Line(msgspec.Struct, frozen=True):
    """A line of a file, without its folder, and the call that it was inlined at."""

    file: str
    line: int
    inlined_at: "Line | None" = None

    def frames(self) -> Iterator["Line"]:
        """Yield this line, and the calls around it, the innermost first."""
        frame: Line | None = self
        for _ in range(_MOST_FRAMES):
            if frame is None:
                return
            yield frame
            frame = frame.inlined_at


class _Row(msgspec.Struct, frozen=True):
    """A row of a table: from this address of a code section on, code comes from a line."""

    section: int
    address: int
    line: Line


def read(file: elf.Elf) -> dict[int, dict[int, tuple[Line, ...]]]:
    """Return the lines of each code section: by address those that begin there.

    Returns:
        By the section's index. Where an address has a line of the source and one of the PTX,
        the source comes first.

    Raises:
        ArtifactError: A table is cut short, or has another version.
    """
    lines: defaultdict[int, dict[int, tuple[Line, ...]]] = defaultdict(dict)
    for name in (_SOURCE, _PTX):
        for section in file.sections:
            if section.name == name:
                found = {(at, address): line for at, address, line in _lines(file, section)}
                for (at, address), line in found.items():
                    lines[at][address] = (*lines[at].get(address, ()), line)
    return dict(lines)


def _lines(file: elf.Elf, section: elf.Section) -> Iterator[tuple[int, int, Line]]:
    """Yield the code section, the address and the line of each row that has code."""
    content = file.content(section)
    homes = dict(_homes(file, section))
    at = 0
    while at < len(content):
        length, *_ = _unpack(struct.Struct("<I"), content, at)
        table = _Table(content[at : at + 4 + length], homes, at)
        for row in table.rows:  # of several for an address the last one holds
            yield row.section, row.address, row.line
        at += 4 + length


def _homes(file: elf.Elf, section: elf.Section) -> Iterator[tuple[int, int]]:
    """Yield where a table names an address, and the code section that it is in."""
    symbols = {symbol.index: symbol.section for symbol in file.symbols()}
    for each in file.sections:
        layout = _RELOCATIONS.get(each.type)
        if layout is None or each.name not in (f".rel{section.name}", f".rela{section.name}"):
            continue
        content = file.content(each)
        whole = len(content) - len(content) % layout.size
        for offset, info, *_ in layout.iter_unpack(content[:whole]):
            yield offset, symbols.get(info >> 32, 0)


def _unpack(layout: struct.Struct, content: bytes, at: int) -> tuple[int, ...]:
    try:
        return layout.unpack_from(content, at)
    except struct.error as error:
        raise _broken() from error


def _broken() -> ArtifactError:
    return ArtifactError("the line table is cut short", hint="the cubin may be damaged")


class _Reader:
    """Reads numbers one after the other."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content, self.at = content, at

    def fixed(self, size: int) -> int:
        taken = self.content[self.at : self.at + size]
        if len(taken) < size:
            raise _broken()
        self.at += size
        return int.from_bytes(taken, "little")

    def leb128(self) -> tuple[int, int]:
        """Read a number of variable length (DWARF 2, section 7.6): unsigned, and signed."""
        value = shift = 0
        while True:
            if self.at >= len(self.content):
                raise _broken()
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value, value - (1 << shift) if byte & 0x40 else value

    def text(self) -> str:
        end = self.content.find(b"\0", self.at)
        if end < 0:
            raise _broken()
        text = self.content[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return text


class _Table:
    """A line number program, and the rows that it makes.

    Args:
        homes: The code section of each address, by its offset in the section of the tables.
        base: Offset of the program there.
    """

    def __init__(self, content: bytes, homes: Mapping[int, int], base: int) -> None:
        self.rows: list[_Row] = []
        self._homes, self._base = homes, base
        _, version, header = _unpack(_START, content, 0)
        if version != _VERSION:
            raise ArtifactError(f"a line table of DWARF {version} instead of {_VERSION}")
        reader = _Reader(content, _START.size)
        self._least = reader.fixed(1)
        reader.fixed(1)  # whether rows begin statements
        self._line_base = (reader.fixed(1) ^ 0x80) - 0x80  # signed
        self._line_range = reader.fixed(1)
        self._opcode_base = reader.fixed(1)
        self._operands = [reader.fixed(1) for _ in range(max(self._opcode_base - 1, 0))]
        if not self._line_range:
            raise _broken()
        self._files = _files(reader)
        self._begin_sequence()
        self._run(_Reader(content, _START.size + header))

    def _run(self, reader: _Reader) -> None:
        content = reader.content
        while reader.at < len(content):
            opcode = content[reader.at]
            reader.at += 1
            if opcode >= self._opcode_base:
                step, by = divmod(opcode - self._opcode_base, self._line_range)
                self._address += step * self._least
                self._line += self._line_base + by
                self._add_row()
            elif opcode == 0:
                self._extended(reader)
            else:
                self._standard(opcode, reader)

    def _standard(self, opcode: int, reader: _Reader) -> None:
        match opcode:
            case 1:
                self._add_row()
            case 2:
                self._address += reader.leb128()[0] * self._least
            case 3:
                self._line += reader.leb128()[1]
            case 4:
                self._file = reader.leb128()[0]
            case 8:
                self._address += (255 - self._opcode_base) // self._line_range * self._least
            case 9:
                self._address += reader.fixed(2)
            case _:
                for _ in range(self._operands[opcode - 1]):
                    reader.leb128()[0]

    def _extended(self, reader: _Reader) -> None:
        size = reader.leb128()[0]
        end, opcode = reader.at + size, reader.fixed(1)
        match opcode:
            case 1:
                self._begin_sequence()
            case 2:
                self._section = self._homes.get(self._base + reader.at, 0)
                self._address = reader.fixed(size - 1)
            case 0x90:  # DW_LNE_NVIDIA_inlined_call
                self._inlined_at = reader.leb128()[0]
        reader.at = end

    def _begin_sequence(self) -> None:
        self._section = self._address = self._inlined_at = 0
        self._file = self._line = 1

    def _add_row(self) -> None:
        # A call is an earlier row, so that chains are not circles.
        is_call = 0 < self._inlined_at <= len(self.rows)
        call = self.rows[self._inlined_at - 1].line if is_call else None
        line = Line(self._files.get(self._file, PTX_FILE), self._line, call)
        self.rows.append(_Row(self._section, self._address, line))


def _files(reader: _Reader) -> dict[int, str]:
    """Return the names of the files by number."""
    while reader.text():  # the folders
        pass
    files: dict[int, str] = {}
    while name := reader.text():
        for _ in range(3):  # the folder, the time and the size
            reader.leb128()[0]
        files[len(files) + 1] = _UNPRINTABLE.sub("?", name)
    return files
