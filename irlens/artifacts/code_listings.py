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
from typing import NamedTuple, TypeAlias

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


class Instruction(NamedTuple):
    """What nvdisasm prints of 16 bytes after their address.

    Attributes:
        leap: Bytes from its own address to the one that it names in the code; ``None`` without one.
        after: What follows that address.
    """

    text: str
    leap: int | None = None
    after: str = ""


#: What nvdisasm prints of the instructions of some code, by architecture and by their bytes.
Instructions: TypeAlias = dict[str, dict[bytes, Instruction]]


class CodeListings:
    """The code of captures, listed together when that of the first is asked for.

    Args:
        captures: The captures; those without a cubin are skipped.
        known: Their instructions, where they have been read.
    """

    def __init__(self, captures: Iterable[Capture], known: Instructions | None = None) -> None:
        self._captures = [each for each in captures if "cubin" in each.stages]
        self._known = known
        self._listings: dict[bytes, str | None] | None = None

    def of(self, cubin: bytes) -> str | None:
        """Return the listing of a cubin's code; ``None`` where it has to be disassembled alone.

        A single cubin is: that takes no longer, and ``tools.disassemble`` keeps its listing.
        """
        if self._listings is None:
            cubins = list(dict.fromkeys(self._cubins()))
            self._listings = {}
            if len(cubins) > 1 or self._known is not None:
                with suppress(ToolError):  # disassembling it alone says why
                    self._listings = list_code(cubins, self._known)
        return self._listings.get(cubin)

    def instructions(self) -> Instructions:
        """Return the instructions of all captures; none where nvdisasm is missing."""
        with suppress(ToolError):
            return read_instructions(self._cubins())
        return {}

    def _cubins(self) -> Iterator[bytes]:
        for capture in self._captures:
            with suppress(ArtifactError):
                yield capture.stages["cubin"].read()


class _Section(msgspec.Struct, frozen=True):
    """A code section of a cubin.

    Attributes:
        name: Without ".text.".
    """

    name: str
    code: bytes
    functions: Mapping[int, str]
    lines: Mapping[int, tuple[Line, ...]]


def list_code(
    cubins: Sequence[bytes], known: Instructions | None = None
) -> dict[bytes, str | None]:
    """Return the listing of each cubin's code; ``None`` where it has to be disassembled alone.

    Alone are cubins with code that is not linked, with branches that are indirect or absolute, and
    those of an architecture for which nvdisasm refuses some of the code.

    Args:
        known: Their instructions, where they have been read.

    Raises:
        ToolError: nvdisasm is missing.
    """
    known = read_instructions(cubins) if known is None else known
    return {cubin: _listing(cubin, known) for cubin in cubins}


def read_instructions(cubins: Iterable[bytes]) -> Instructions:
    """Return the instructions of the cubins that ``list_code`` lists.

    Raises:
        ToolError: nvdisasm is missing.
    """
    tool = tools.find("nvdisasm")
    words: defaultdict[str, dict[bytes, None]] = defaultdict(dict)
    for cubin in cubins:
        with suppress(ArtifactError):
            file = elf.read(cubin)
            arch = cubin_arch(file)
            if arch is not None:
                codes = _linked_codes(file).values()
                words[arch].update(dict.fromkeys(chain(*map(_words, codes))))
    known: Instructions = {}
    for arch, own in words.items():
        with suppress(ToolError):
            texts = _disassemble(tool, arch, b"".join(own))
            known[arch] = dict(zip(own, map(_instruction, texts, count(step=_SIZE)), strict=True))
    return known


def _words(code: bytes) -> Iterator[bytes]:
    """Yield the bytes of each instruction."""
    return (code[at : at + _SIZE] for at in range(0, len(code), _SIZE))


def _linked_codes(file: elf.Elf) -> dict[int, bytes]:
    """Return the content of each code section; none where a linker still has to place any."""
    if any(each.name.startswith(_RELOCATIONS) and each.size for each in file.sections):
        return {}
    codes = {
        number: file.content(section)
        for number, section in enumerate(file.sections)
        if section.name.startswith(_CODE)
    }
    return {} if any(len(code) % _SIZE for code in codes.values()) else codes


def _sections(file: elf.Elf) -> list[_Section]:
    """Return the code sections of a cubin that can be listed."""
    functions: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for symbol in file.symbols():
        if symbol.kind == elf.STT_FUNC:
            functions[symbol.section][symbol.value] = symbol.name
    lines = line_tables.read(file)
    return [
        _Section(
            file.sections[number].name.removeprefix(_CODE),
            code,
            functions[number],
            lines.get(number, {}),
        )
        for number, code in _linked_codes(file).items()
    ]


def _disassemble(tool: Path, arch: str, code: bytes) -> list[str]:
    """Return each instruction as nvdisasm prints it after its address."""
    with tools.folder_with(tool, "code", code) as directory:
        arguments = ["-b", arch.replace("_", "").upper(), tools.WITHOUT_DATAFLOW, "code"]
        listing = tools.run(tool, arguments, directory=directory, seconds=tools.LISTING_SECONDS)
    lines = [line for each in listing.splitlines() if (line := _LINE.fullmatch(each))]
    if [int(line["address"], 16) for line in lines] != list(range(0, len(code), _SIZE)):
        raise ToolError(f"{tool.name} does not list each instruction of the code for {arch}")
    return [line["text"] for line in lines]


def _instruction(text: str, address: int) -> Instruction:
    """Return an instruction that is printed at an address."""
    match = _WITH_ADDRESS.fullmatch(text)
    if match is None:
        return Instruction(text)
    return Instruction(match["before"], int(match["address"], 16) - address, match["after"])


def _listing(cubin: bytes, known: Instructions) -> str | None:
    """Return the listing of a cubin; ``None`` where it has to be disassembled alone."""
    with suppress(ArtifactError):
        file = elf.read(cubin)
        instructions, sections = known.get(cubin_arch(file) or "", {}), _sections(file)
        written = [_write(each, instructions) for each in sections]
        if written and None not in written:
            return "".join(filter(None, written))
    return None


def _write(section: _Section, known: Mapping[bytes, Instruction]) -> str | None:
    """Return the listing of a section; ``None`` where an instruction or its target is unknown."""
    if not all(map(_NAME.fullmatch, (section.name, *section.functions.values()))):
        return None
    own = [known.get(word) for word in _words(section.code)]
    places = range(0, len(section.code), _SIZE)
    labels: dict[int, str] = {}
    for offset, each in zip(places, own, strict=True):
        if each is None or _ELSEWHERE.search(each.text):
            return None
        if each.leap is not None:
            labels[offset + each.leap] = f".L_x_{offset + each.leap}"
    if not labels.keys() <= {*places, len(section.code)}:
        return None
    labels |= section.functions
    listing = [f"\t.section\t.text.{section.name}\n"]
    listing += [f"\t.type\t{name},@function\n" for name in section.functions.values()]
    for offset, each in zip(places, filter(None, own), strict=True):
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
