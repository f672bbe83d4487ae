"""The records that MLIR text is parsed into.

Operations lie in one tuple in the order of the text and point at each other by index, so no walk,
comparison or destruction recurses, however deep the regions of an input are nested.

While operations and blocks are being read they are ``Unfinished...``: their locations stay ranges
of tokens until the text has ended, since MLIR prints most of their aliases after the module.
"""

import re

import msgspec

from irlens.isa.mlir.locations import Locations
from irlens.isa.mlir.operations import Deed, deed
from irlens.isa.mlir.tokens import Tokens
from irlens.isa.mlir.types import Type, read_type
from irlens.isa.mlir.types import Unknown as UnknownType
from irlens.model.source import SourceLocation, Span

_INTEGER = re.compile(r"(-?[0-9]{1,18})(?: : .*)?")
_INTEGERS = re.compile(r"(?:array<i[0-9]{1,3}:|dense<)? ?\[?([-0-9, ]{1,400})\]?>?(?: : .*)?")

_NOT_PRINTED = UnknownType("")


class Attributed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What has attributes.

    Attributes:
        attributes: Each as written; a unit attribute is "unit".
    """

    attributes: dict[str, str] = {}

    def integer(self, name: str) -> int | None:
        """Return the number of ``axis = 0 : i32``; ``None`` if it is absent, or no number."""
        match = _INTEGER.fullmatch(self.attributes.get(name, ""))
        return int(match[1]) if match else None

    def integers(self, name: str) -> tuple[int, ...]:
        """Return the numbers of ``array<i32: 1, 0>`` or ``dense<[16, 1]>``; empty as above."""
        match = _INTEGERS.fullmatch(self.attributes.get(name, ""))
        items = match[1].split(",") if match else []
        return tuple(int(item) for item in items if _INTEGER.fullmatch(item.strip()))

    def flag(self, name: str) -> bool:
        """Whether an attribute is set, and not to false."""
        return self.attributes.get(name, "false") != "false"


class Argument(Attributed, frozen=True, kw_only=True, gc=False):
    """A value that a block defines on entry: a function's argument, a loop's induction variable.

    Attributes:
        name: "%x".
        type: ``None`` where the operation does not print it (``scf.for``).
        initial: The value it starts with where the operation binds one (``%acc = %zero``).
        attributes: ``tt.divisibility`` and the like.
        location: Innermost first; empty if unknown.
    """

    name: str
    type: Type | None = None
    initial: str | None = None
    location: tuple[SourceLocation, ...] = ()


class Block(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A basic block.

    Attributes:
        label: "^bb0", or ``None`` for an entry block that prints none.
        operations: Indices into ``Module.operations``.
    """

    label: str | None
    arguments: tuple[Argument, ...]
    operations: tuple[int, ...]


class Region(msgspec.Struct, frozen=True, gc=False):
    """A list of blocks that an operation owns."""

    blocks: tuple[Block, ...]


class Operation(Attributed, frozen=True, kw_only=True, gc=False):
    """One operation.

    Attributes:
        index: Its index in ``Module.operations``.
        parent: Index of the operation whose region holds it.
        end: One past the last operation nested in it: ``operations[index + 1 : end]`` is its body.
        name: "tt.load", "scf.for".
        results: Each name with how many values it stands for: ``%7:4`` is ``("%7", 4)``.
        operands: Values it reads, in order, as written ("%7#2").
        words: Keywords, symbols, successors and literals of its head, in order: ``slt``, ``@f``.
        attributes: Attribute dictionary, properties and ``keyword = value`` pairs of the head.
        operand_types: Types after the colon. An operation whose operands and results share one
            type prints it once, here.
        result_types: Types after the arrow (or after "to").
        location: Innermost first: where inlined code stands, then who called it; empty if
            unknown. The name of a named location is not kept.
        span: First and last line of its text, regions included.
        start: Offset of its first character in ``Module.text``.
        stop: One past its last character.
        does: What it does, where engines ask for that.
    """

    index: int
    parent: int | None
    end: int
    name: str
    results: tuple[tuple[str, int], ...]
    operands: tuple[str, ...]
    words: tuple[str, ...]
    operand_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    regions: tuple[Region, ...]
    location: tuple[SourceLocation, ...]
    span: Span
    start: int
    stop: int
    does: Deed | None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of its regions, in order."""
        return tuple(block for region in self.regions for block in region.blocks)

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The arguments of its first block: a function's parameters."""
        return self.blocks[0].arguments if self.regions and self.blocks else ()

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of operands, then those of results."""
        return self.operand_types + self.result_types

    @property
    def operand_type(self) -> Type:
        """The type of its first operand; an unknown one if it prints none."""
        return self.operand_types[0] if self.operand_types else _NOT_PRINTED

    @property
    def result_type(self) -> Type:
        """The type of its first result; an unknown one if it prints none."""
        return self.result_types[0] if self.result_types else self.operand_type

    @property
    def values(self) -> list[str]:
        """The name of each value that it returns: ["%7#0", "%7#1"] for ``%7:2``."""
        return [
            name if count == 1 else f"{name}#{number}"
            for name, count in self.results
            for number in range(count)
        ]

    @property
    def literal(self) -> str:
        """The value of a constant, or of every element of one: "7", "true"; "" for others."""
        return self.words[0].removeprefix("dense<").removesuffix(">") if self.words else ""


#: First token and one past the last.
TokenRange = tuple[int, int]


class UnfinishedArgument:
    """A block argument without its location."""

    __slots__ = ("attributes", "initial", "location", "name", "type")

    def __init__(self, name: str) -> None:
        self.name = name
        self.type: str | None = None
        self.initial: str | None = None
        self.attributes: dict[str, str] = {}
        self.location: TokenRange = (0, 0)

    def finish(self, locations: Locations) -> Argument:
        """Return the finished record."""
        return Argument(
            name=self.name,
            type=None if self.type is None else read_type(self.type),
            initial=self.initial,
            attributes=self.attributes,
            location=locations.resolve(*self.location),
        )


class UnfinishedBlock:
    """A block that is still open."""

    __slots__ = ("arguments", "label", "operations")

    def __init__(self, label: str | None, arguments: list[UnfinishedArgument]) -> None:
        self.label = label
        self.arguments = arguments
        self.operations: list[int] = []

    def finish(self, locations: Locations) -> Block:
        """Return the finished record."""
        return Block(
            label=self.label,
            arguments=tuple(argument.finish(locations) for argument in self.arguments),
            operations=tuple(self.operations),
        )


class UnfinishedOperation:
    """An operation whose head or regions are still being read.

    Attributes:
        depth: Parentheses and square brackets of the head that are open.
        region_closer: The brace that ends the region being read; 0 while in the head.
        arguments: The values that the next region defines on entry.
    """

    __slots__ = (
        "arguments", "attributes", "depth", "end", "first", "index", "last", "location", "name",
        "operand_types", "operands", "parent", "region_closer", "regions", "result_types",
        "results", "words",
    )  # fmt: skip

    def __init__(self, index: int, parent: "UnfinishedOperation | None", first: int) -> None:
        self.index = index
        self.parent = parent
        self.first = first
        self.last = first
        self.end = index + 1
        self.name = ""
        self.depth = 0
        self.region_closer = 0
        self.results: list[tuple[str, int]] = []
        self.operands: list[str] = []
        self.words: list[str] = []
        self.attributes: dict[str, str] = {}
        self.operand_types: list[str] = []
        self.result_types: list[str] = []
        self.arguments: list[UnfinishedArgument] = []
        self.regions: list[list[UnfinishedBlock]] = []
        self.location: TokenRange = (0, 0)

    def finish(self, tokens: Tokens, locations: Locations) -> Operation:
        """Return the finished record."""
        start, stop = tokens.starts[self.first], tokens.stop(self.last)
        regions: tuple[Region, ...] = ()
        if self.regions:
            regions = tuple(
                Region(tuple(block.finish(locations) for block in blocks))
                for blocks in self.regions
            )
        return Operation(
            index=self.index,
            parent=None if self.parent is None else self.parent.index,
            end=self.end,
            name=self.name,
            results=tuple(self.results),
            operands=tuple(self.operands),
            words=tuple(self.words),
            attributes=self.attributes,
            operand_types=tuple(map(read_type, self.operand_types)),
            result_types=tuple(map(read_type, self.result_types)),
            regions=regions,
            location=locations.resolve(*self.location),
            span=Span(tokens.stage, tokens.line(start), tokens.line(stop - 1)),
            start=start,
            stop=stop,
            does=deed(self.name),
        )
