"""A parsed stage of MLIR: its operations, by what they are named and do, and their values."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter

import msgspec

from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.tree import Attributed, Operation
from irlens.isa.mlir.values import Values


class Unknown(msgspec.Struct, frozen=True):
    """Balanced text that is no statement of MLIR.

    Attributes:
        line: 1-based line.
    """

    text: str
    line: int


class Module(Attributed, frozen=True, kw_only=True, dict=True, gc=True):
    """A parsed stage.

    Attributes:
        attributes: Attributes of the outermost ``module``.
        aliases: Attribute and type aliases by name ("#blocked"), as written, locations left out.
        operations: Every operation, outer before inner, in the order of the text.
    """

    stage: str
    text: str
    aliases: dict[str, str]
    operations: tuple[Operation, ...]
    unknown: tuple[Unknown, ...]

    def pieces(self) -> Iterator[str]:
        """Yield the text cut where operations begin; joining the pieces rebuilds it."""
        cuts = [0, *(operation.start for operation in self.operations), len(self.text)]
        for start, stop in pairwise(cuts):
            yield self.text[start:stop]

    def body(self, operation: Operation) -> tuple[Operation, ...]:
        """Return everything nested in an operation, at any depth."""
        return self.operations[operation.index + 1 : operation.end]

    def own(self, operation: Operation) -> list[Operation]:
        """Return what stands directly in an operation's blocks, in their order."""
        return [self.operations[n] for block in operation.blocks for n in block.operations]

    def named(self, *names: str) -> Iterator[Operation]:
        """Yield the operations that have one of these names."""
        return iter(_in_order([self._by_name.get(name, ()) for name in set(names)]))

    def doing(self, *deeds: Deed) -> Iterator[Operation]:
        """Yield the operations that do one of some deeds, such as "load", in their order."""
        return iter(_in_order([self._by_deed.get(deed, ()) for deed in set(deeds)]))

    @cached_property
    def values(self) -> Values:
        """What each operand is."""
        return Values(self.operations)

    @cached_property
    def _by_name(self) -> dict[str, list[Operation]]:
        found = defaultdict[str, list[Operation]](list)
        for operation in self.operations:
            found[operation.name].append(operation)
        return dict(found)

    @cached_property
    def _by_deed(self) -> dict[Deed | None, list[Operation]]:
        found = defaultdict[Deed | None, list[list[Operation]]](list)
        for same in self._by_name.values():
            found[same[0].does].append(same)
        return {does: _in_order(lists) for does, lists in found.items()}

    @property
    def target(self) -> str:
        """The architecture of a ttgir as Triton names it: "90", "gfx942"; empty if unknown."""
        return self.attributes.get("ttg.target", "").strip('"').partition(":")[2]

    @property
    def kernel(self) -> Operation | None:
        """The kernel's function; ``None`` if there is no single one, or not all is understood."""
        functions = [each for each in self.named("tt.func") if "private" not in each.words]
        if len(functions) != 1 or self.unknown:
            return None
        return functions[0] if functions[0].blocks else None


def _in_order(lists: Sequence[Sequence[Operation]]) -> list[Operation]:
    """Return the operations of several lists in the order of the text."""
    return sorted(chain.from_iterable(lists), key=attrgetter("index"))
