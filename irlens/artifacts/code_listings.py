"""Lists the code of many cubins with one run of nvdisasm, whose start takes longer than its work.

nvdisasm reads the bytes of instructions, each only once, without the files around them. It prints
the address that a branch leads to, where it prints a label if it reads the file. The listings have
labels again, and the source lines of ``line_tables``: they differ from those of
``tools.disassemble`` in the names of labels. Where two rows of a line table in a row have the same
line, inlined at different calls, nvdisasm goes on with the first call.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

import msgspec

from irlens.artifacts import elf, line_tables, tools
from irlens.artifacts.identify import cubin_arch
from irlens.artifacts.line_tables import Line
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, ToolError

#: Bytes of an instruction since Volta.
_SIZE = 16
_CODE = ".text."
_RELOCATIONS = (".rel.text.", ".rela.text.")
_NAME = re.compile(r"[\w$.]++")
_LINE = re.compile(r"\s*+/\*(?P<address>[0-9a-f]{4,})\*/(?P<text>\s++.*)", re.DOTALL)
#: An instruction whose last operand is an address in the code; its scheduling notes may follow.
_WITH_ADDRESS = re.compile(
    r"(?P<before>\s++(?:@!?U?P\w\s++)?"
    r"(?:BRA|BSSY|CALL\.REL|LEPC|RET\.REL|WARPSYNC\.COLLECTIVE)(?![A-Z])[^;&?]*?)"
    r"(?P<address>(?<!\w)-?0x[0-9a-f]++)(?P<after>\s*+[;&?].*)",
    re.DOTALL,
)

#: Branches whose targets are not relative to their own address.
_ELSEWHERE = re.compile(rf"{tools.INDIRECT_BRANCH.pattern}|\bJMP\b")


class CodeListings:
    """The code of captures, listed together when that of the first is asked for.

    Args:
        captures: The captures; those without a cubin are skipped.
    """

    def __init__(self, captures: Iterable[Capture]) -> None:
        self._captures = [each for each in captures if "cubin" in each.stages]
        self._listings: dict[bytes, str | None] | None = None

    def of(self, cubin: bytes) -> str | None:
        """Return the listing of a cubin's code; ``None`` where it has to be disassembled alone.

        A single cubin is: that takes no longer, and ``tools.disassemble`` keeps its listing.
        """
        if self._listings is None:
            self._listings = dict.fromkeys(self._cubins())
            if len(self._listings) > 1:
                with suppress(ToolError):  # disassembling it alone says why
                    self._listings = list_code(list(self._listings))
        return self._listings.get(cubin)

    def _cubins(self) -> Iterator[bytes]:
        for capture in self._captures:
            with suppress(ArtifactError):
                yield capture.stages["cubin"].read()


class _Instruction(NamedTuple):
    """What nvdisasm prints of 16 bytes after their address.

    Attributes:
        leap: Bytes from its own address to the one that it names in the code; ``None`` without one.
        after: What follows that address.
    """

    text: str
    leap: int | None = None
    after: str = ""


class _Section(msgspec.Struct, frozen=True):
    """A code section of a cubin.

    Attributes:
        name: Without ".text.".
    """

    name: str
    code: bytes
    functions: Mapping[int, str]
    lines: Mapping[int, tuple[Line, ...]]


def list_code(cubins: Sequence[bytes]) -> dict[bytes, str | None]:
    """Return the listing of each cubin's code; ``None`` where it has to be disassembled alone.

    Alone are cubins with code that is not linked, with branches that are indirect or absolute, and
    those of an architecture for which nvdisasm refuses some of the code.

    Raises:
        ToolError: nvdisasm is missing.
    """
    tool = tools.find("nvdisasm")
    by_arch: defaultdict[str, dict[bytes, list[_Section]]] = defaultdict(dict)
    for cubin in cubins:
        with suppress(ArtifactError):
            file = elf.read(cubin)
            arch, sections = cubin_arch(file), _linked_sections(file)
            if arch is not None and sections:
                by_arch[arch][cubin] = sections
    listings: dict[bytes, str | None] = dict.fromkeys(cubins)
    for arch, members in by_arch.items():
        codes = (each.code for sections in members.values() for each in sections)
        words = list(dict.fromkeys(chain(*map(_words, codes))))
        try:
            texts = _disassemble(tool, arch, b"".join(words))
        except ToolError:
            continue
        known = dict(zip(words, map(_instruction, texts, count(step=_SIZE)), strict=False))
        for cubin, sections in members.items():
            listings[cubin] = _write(sections, known)
    return listings


def _words(code: bytes) -> Iterator[bytes]:
    """Yield the bytes of each instruction."""
    return (code[at : at + _SIZE] for at in range(0, len(code), _SIZE))


def _linked_sections(file: elf.Elf) -> list[_Section]:
    """Return the code sections of a cubin; none if there is anything left for a linker to do."""
    functions: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for symbol in file.symbols():
        if symbol.kind == elf.STT_FUNC:
            functions[symbol.section][symbol.value] = symbol.name
    lines = line_tables.read(file)
    sections = []
    for number, section in enumerate(file.sections):
        if section.name.startswith(_RELOCATIONS) and section.size:
            return []
        if section.name.startswith(_CODE):
            code, names = file.content(section), functions[number]
            if len(code) % _SIZE or not all(map(_NAME.fullmatch, (section.name, *names.values()))):
                return []
            name = section.name.removeprefix(_CODE)
            sections.append(_Section(name, code, names, lines.get(number, {})))
    return sections


def _disassemble(tool: Path, arch: str, code: bytes) -> list[str]:
    """Return each instruction as nvdisasm prints it after its address."""
    with tools.folder_with(tool, "code", code) as directory:
        arguments = ["-b", arch.replace("_", "").upper(), tools.WITHOUT_DATAFLOW, "code"]
        listing = tools.run(tool, arguments, directory=directory, seconds=tools.LISTING_SECONDS)
    lines = [line for each in listing.splitlines() if (line := _LINE.fullmatch(each))]
    if [int(line["address"], 16) for line in lines] != list(range(0, len(code), _SIZE)):
        raise ToolError(f"{tool.name} does not list each instruction of the code for {arch}")
    return [line["text"] for line in lines]


def _instruction(text: str, address: int) -> _Instruction:
    """Return an instruction that is printed at an address."""
    match = _WITH_ADDRESS.fullmatch(text)
    if match is None:
        return _Instruction(text)
    return _Instruction(match["before"], int(match["address"], 16) - address, match["after"])


def _write(sections: Sequence[_Section], known: Mapping[bytes, _Instruction]) -> str | None:
    """Return the listing of a cubin; ``None`` where it is unknown what its code branches to."""
    listing: list[str] = []
    for section in sections:
        own = [known[word] for word in _words(section.code)]
        leaps = {n * _SIZE: each.leap for n, each in enumerate(own) if each.leap is not None}
        labels = {at + leap: f".L_x_{at + leap}" for at, leap in leaps.items()}
        inside = labels.keys() <= set(range(0, len(section.code) + 1, _SIZE))
        if not inside or any(_ELSEWHERE.search(each.text) for each in own):
            return None
        labels.update(section.functions)
        listing.append(f"\t.section\t.text.{section.name}\n")
        listing += [f"\t.type\t{name},@function\n" for name in section.functions.values()]
        for offset, each in zip(range(0, len(section.code), _SIZE), own, strict=True):
            if offset in labels:
                listing.append(f"{labels[offset]}:\n")
            line = each.text
            if each.leap is not None:
                line += f"`({labels[offset + each.leap]}){each.after}"
            for place in section.lines.get(offset, ()):
                listing += _comments(place)
            listing.append(f"        /*{offset:04x}*/{line}\n")
        if len(section.code) in labels:
            listing.append(f"{labels[len(section.code)]}:\n")
    return "".join(listing)


def _comments(line: Line) -> Iterator[str]:
    """Yield a line, and the calls that it was inlined at, as nvdisasm writes them."""
    for frame in line.frames():
        around = frame.inlined_at
        call = f' inlined at "{around.file}", line {around.line}' if around is not None else ""
        yield f'\t//## File "{frame.file}", line {frame.line}{call}\n'
