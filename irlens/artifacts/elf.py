"""Reads 64-bit little-endian ELF, the container of cubins and AMD code objects.

Source: System V gABI, chapters 4 and 5. Only sections, segments, symbols and notes are read. irlens
has its own reader because the input is untrusted: every offset is checked before it is followed,
and a broken file raises ``ArtifactError`` and nothing else.
"""

import struct
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from irlens.model.errors import ArtifactError

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
MACHINE_AMDGPU = 224

SHT_NULL = 0
SHT_SYMTAB = 2
SHT_NOTE = 7
SHT_NOBITS = 8
SHT_DYNSYM = 11
_SHT_LOPROC = 0x70000000
SHF_ALLOC = 0x2
SHF_EXECINSTR = 0x4
SHF_INFO_LINK = 0x40
SHF_MASKPROC = 0xF0000000
STT_FUNC = 2
_PT_LOAD = 1

_CLASS_64_LITTLE_ENDIAN = b"\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")
#: Bytes between a segment's last section and its end: the next one is aligned.
_MOST_PADDING = 15
#: Linkers make four; each is compared with each section.
_MOST_SEGMENTS = 64


class Section(msgspec.Struct, frozen=True, gc=False):
    """A section header; sizes and offsets in bytes."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def end(self) -> int:
        """Where its bytes in the file end."""
        return self.offset if self.type == SHT_NOBITS else self.offset + self.size


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A part of the file that is loaded; sizes and offsets in bytes.

    Attributes:
        file_size: Bytes in the file.
        memory_size: Bytes in memory, those that the file does not hold included.
    """

    offset: int
    address: int
    file_size: int
    memory_size: int

    @property
    def end(self) -> int:
        """Where its bytes in the file end."""
        return self.offset + self.file_size


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """An entry of a symbol table.

    Attributes:
        kind: ``STT_*``, such as ``STT_FUNC``.
        other: ``st_other``, with the vendor's bits.
        section: Index of the section that defines it.
        value: Its offset in the section, or its address in a linked file (AMD code objects).
    """

    index: int
    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int


class Note(msgspec.Struct, frozen=True, gc=False):
    """A note: its owner, type and content."""

    owner: str
    type: int
    content: bytes


class Elf(msgspec.Struct, frozen=True):
    """An ELF file with a valid header and section table; ``segments`` are those to load."""

    os_abi: int
    machine: int
    flags: int
    sections: list[Section]
    segments: list[Segment]
    data: bytes

    def content(self, section: Section) -> bytes:
        """Return a section's bytes; none for a section without data in the file.

        Raises:
            ArtifactError: It reaches past the end of the file.
        """
        if section.type == SHT_NOBITS:
            return b""
        return _slice(self.data, section.offset, section.size, section.name)

    def symbols(self, table: int = SHT_SYMTAB) -> Iterator[Symbol]:
        """Yield the symbols of the first table of this type.

        Raises:
            ArtifactError: The table or its names reach past the end of the file.
        """
        section = next((section for section in self.sections if section.type == table), None)
        if section is None:
            return
        if section.link >= len(self.sections):
            raise _broken(f"{section.name} names section {section.link}, which does not exist")
        names = _Strings(self.content(self.sections[section.link]))
        content = self.content(section)
        whole = len(content) - len(content) % _SYMBOL.size
        for index, fields in enumerate(_SYMBOL.iter_unpack(content[:whole])):
            name, info, other, home, value, size = fields
            yield Symbol(index, names.at(name), info & 0xF, other, home, value, size)

    def notes(self) -> Iterator[Note]:
        """Yield the notes of all note sections.

        Raises:
            ArtifactError: One reaches past the end of its section.
        """
        for section in self.sections:
            if section.type != SHT_NOTE:
                continue
            content = self.content(section)
            at = 0
            while at + _NOTE.size <= len(content):
                owner_size, size, kind = _NOTE.unpack_from(content, at)
                owner_at = at + _NOTE.size
                content_at = owner_at + _aligned(owner_size)
                owner = _slice(content, owner_at, owner_size, section.name)
                yield Note(
                    owner=owner.rstrip(b"\0").decode("ascii", "replace"),
                    type=kind,
                    content=_slice(content, content_at, size, section.name),
                )
                at = content_at + _aligned(size)


def read(data: bytes) -> Elf:
    """Read the header and the section table.

    Raises:
        ArtifactError: Not ELF, not 64-bit little-endian, or cut short.
    """
    if data[:4] != MAGIC or data[4:6] != _CLASS_64_LITTLE_ENDIAN:
        raise ArtifactError(
            "not a GPU binary: it does not start as a 64-bit little-endian ELF file",
            hint="a cubin or hsaco is wanted here",
        )
    if len(data) < _HEADER.size:
        raise _broken("the header is cut short")
    header = _HEADER.unpack_from(data)
    ident, machine, table, flags = header[0], header[2], header[6], header[7]
    entry_size, count, names_index = header[11:14]
    if count and entry_size != _SECTION.size:
        raise _broken(f"section headers of {entry_size} bytes instead of {_SECTION.size}")
    rows = list(
        _SECTION.iter_unpack(_slice(data, table, count * _SECTION.size, "the section table"))
    )
    inside = (row[5] for row in rows if row[1] != SHT_NOBITS and row[4] + row[5] <= len(data))
    if sum(inside) > 2 * len(data):  # each reader copies its sections' bytes
        raise _broken("its sections overlap")
    names = b""
    if names_index < count:
        names = _slice(data, rows[names_index][4], rows[names_index][5], "the section names")
    strings = _Strings(names)
    sections = [Section(strings.at(row[0]), *row[1:8]) for row in rows]
    segments = list(_segments(data, header[5], *header[9:11]))
    return Elf(ident[7], machine, flags, sections, segments, data)


def _segments(data: bytes, table: int, entry_size: int, count: int) -> Iterator[Segment]:
    if count and entry_size != _SEGMENT.size:
        raise _broken(f"program headers of {entry_size} bytes instead of {_SEGMENT.size}")
    content = _slice(data, table, count * _SEGMENT.size, "the table of segments")
    for kind, _, offset, address, _, file_size, memory_size, _ in _SEGMENT.iter_unpack(content):
        if kind == _PT_LOAD:
            yield Segment(offset, address, file_size, memory_size)


def contradiction(file: Elf) -> str:
    """Return where the section table contradicts itself or the program headers; empty if nowhere.

    A damaged offset or size shows, since a linker leaves no bytes of a segment without a section.
    """
    if len(file.segments) > _MOST_SEGMENTS:
        return f"it has {len(file.segments)} segments"
    inside = sorted(
        (each for each in file.sections if each.type not in (SHT_NULL, SHT_NOBITS) and each.size),
        key=lambda each: (each.offset, each.end),
    )
    for before, after in pairwise(inside):
        # Sections may share all of their bytes: ptxas keeps one copy of equal contents.
        shared = (before.offset, before.size) == (after.offset, after.size)
        if after.offset < before.end and not shared:
            return f"{before.name} and {after.name} overlap"
    loaded = [each for each in inside if each.flags & SHF_ALLOC and each.type < _SHT_LOPROC]
    for section in loaded if file.segments else ():
        if not any(_holds(segment, section) for segment in file.segments):
            return f"no segment holds {section.name}"
    for segment in file.segments:
        held = [section for section in loaded if _holds(segment, section)]
        if held and segment.end - max(each.end for each in held) > _MOST_PADDING:
            return f"{held[-1].name} does not end with its segment"
    return ""


def _holds(segment: Segment, section: Section) -> bool:
    at = section.offset - segment.offset
    return (
        0 <= at <= segment.file_size - section.size
        # Cubins have no addresses: all of them are 0.
        and section.address in (0, segment.address + at)
    )


class _Strings:
    """A string table.

    Names may overlap, so a small hostile file could expand to gigabytes: the total length of all
    names is limited to a few times the size of the table.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._known: dict[int, str] = {}
        self._left = 16 * len(content)

    def at(self, offset: int) -> str:
        """Return the name that starts at ``offset``."""
        name = self._known.get(offset)
        if name is None:
            end = self._content.find(b"\0", offset)
            if end < 0 and offset != 0:
                raise _broken("a name reaches past the end of its table")
            self._left -= end - offset
            if self._left < 0:
                raise _broken("its names overlap without end")
            name = self._content[offset:end].decode("utf-8", "replace")
            self._known[offset] = name
        return name


def _slice(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise _broken(f"{what} reaches past the end ({offset + size} of {len(data)} bytes)")
    return data[offset : offset + size]


def _aligned(size: int) -> int:
    """Round up to four bytes, the padding of notes."""
    return (size + 3) & ~3


def _broken(what: str) -> ArtifactError:
    return ArtifactError(
        f"broken or truncated ELF file: {what}", hint="compile the kernel again, or copy it again"
    )
