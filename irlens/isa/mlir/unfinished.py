"""Operations and blocks while they are being read: what a record cannot be before it is whole.

Locations stay ranges of tokens until the text has ended, since MLIR prints most of their aliases
after the module.
"""

from irlens.isa.mlir.locations import Locations
from irlens.isa.mlir.tokens import Tokens
from irlens.isa.mlir.tree import Argument, Block, Operation, Region
from irlens.model.source import Span

#: First token and one past the last.
TokenRange = tuple[int, int]


class UnfinishedArgument:
    """A block argument without its location."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.type: str | None = None
        self.initial: str | None = None
        self.attributes: dict[str, str] = {}
        self.location: TokenRange = (0, 0)

    def finish(self, locations: Locations) -> Argument:
        """Make the record."""
        return Argument(
            name=self.name,
            type=self.type,
            initial=self.initial,
            attributes=self.attributes,
            location=locations.resolve(*self.location),
        )


class UnfinishedBlock:
    """A block that may get more operations."""

    def __init__(self, label: str | None, arguments: list[UnfinishedArgument]) -> None:
        self.label = label
        self.arguments = arguments
        self.operations: list[int] = []

    def finish(self, locations: Locations) -> Block:
        """Make the record."""
        return Block(
            label=self.label,
            arguments=tuple(argument.finish(locations) for argument in self.arguments),
            operations=tuple(self.operations),
        )


class UnfinishedOperation:
    """An operation whose head or regions are still being read.

    Attributes:
        first: Its first token.
        last: Its last token.
        depth: Parentheses and square brackets of the head that are open.
        region_closer: The brace that ends the region being read; 0 while in the head.
        arguments: What the region to come defines on entry.
    """

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
        """Make the record."""
        start, stop = tokens.starts[self.first], tokens.stop(self.last)
        return Operation(
            index=self.index,
            parent=None if self.parent is None else self.parent.index,
            end=self.end,
            name=self.name,
            results=tuple(self.results),
            operands=tuple(self.operands),
            words=tuple(self.words),
            attributes=self.attributes,
            operand_types=tuple(self.operand_types),
            result_types=tuple(self.result_types),
            regions=tuple(
                Region(tuple(block.finish(locations) for block in blocks))
                for blocks in self.regions
            ),
            location=locations.resolve(*self.location),
            span=Span(tokens.stage, tokens.line(start), tokens.line(stop - 1)),
            start=start,
            stop=stop,
        )
