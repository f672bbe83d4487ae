"""The rules that decide whether an operation can be part of a group of others.

A group stands for one kernel. It has an iteration space, may fold some axes of it, and may begin
with a product, whose tiles its other operations work on.
"""

from math import prod
from typing import NamedTuple

from irlens.analyze.fusion.dataflow import Flow, Source, Version
from irlens.analyze.regions import distinct_bytes, same_bytes, same_order
from irlens.model.ledger import FusionRule
from irlens.model.operations import RecordedOperation, Region
from irlens.model.several import total
from irlens.model.text import count

#: Elements of a row that one CTA is assumed to keep: half of the 65,536 registers of 4 bytes that a
#: CTA can have on every GPU of `irlens targets`; addresses and temporaries take the rest.
ROW_LIMIT = 32_768
#: Bytes that memory delivers at least: a CTA that folds an axis with a stride gets that many beside
#: each element, so it keeps as many rows.
_SECTOR = 32

#: Kinds whose operations are a kernel of their own: what decides, and why.
_ALONE: dict[str, tuple[FusionRule, str]] = {
    "kernel": ("kernel", "a Triton kernel: what it loads and stores is fixed in its code"),
    "transfer": ("transfer", "a copy between host and GPU"),
    "library": ("library", "a library's kernel, which takes no other operations in"),
    "scatter": ("data-dependent", "writes where data says, so elements may meet"),
    "random": ("random", "draws random numbers: another kernel would draw other ones"),
}
#: Kinds that begin a group and never join one.
_BEGINS: dict[str, tuple[FusionRule, str]] = {
    "product": ("prologue", "a product: what it reads would be computed again for each tile"),
    "gather": ("data-dependent", "reads where data says: it may need any element"),
    "join": ("join", "writes each of its inputs to a part of the result"),
    "fill": ("constant", "a constant: it can be computed where it is used"),
}  # fmt: skip


class Verdict(NamedTuple):
    """Whether an operation can be part of a group, what decides it, and that in words."""

    joins: bool
    rule: FusionRule
    reason: str


def own_kernel(operation: RecordedOperation) -> Verdict | None:
    """Return why an operation is a kernel of its own; ``None`` if it need not be."""
    alone = _ALONE.get(operation.kind)
    return None if alone is None else Verdict(False, *alone)


def elements(region: Region) -> int:
    """Return how many different elements a region has, broadcast axes counted once."""
    moved = zip(region.shape, region.strides, strict=True)
    return prod(extent for extent, stride in moved if stride or not extent)


class Group:
    """Operations that one kernel could do.

    Args:
        row_limit: Elements of a row that stay on chip.

    Attributes:
        members: Their indices, in the order in which they joined.
    """

    def __init__(
        self, operations: tuple[RecordedOperation, ...], flow: Flow, row_limit: int
    ) -> None:
        self.members: list[int] = []
        self._operations = operations
        self._flow = flow
        self._row_limit = row_limit
        self._space: tuple[int, ...] = ()
        self._axes: tuple[int, ...] | None = None
        self._first: RecordedOperation | None = None
        self._is_closed = False
        #: Of each member, how many folds its results have after them.
        self._level: dict[int, int] = {}
        #: What the members read of what lies outside, and the level at which they do first.
        self._inputs: dict[Version, list[Region]] = {}
        self._read_at: dict[Version, int] = {}
        #: What the members read and write of each memory.
        self._used: dict[int, list[tuple[int, Region]]] = {}

    def begin(self, index: int) -> None:
        """Take the first operation in."""
        operation = self._operations[index]
        self._first = operation
        too_long = operation.kind == "normalization" and not self._fits(operation)
        self._is_closed = operation.kind in _ALONE or too_long
        self._space = operation.space
        self.take(index)

    def take(self, index: int) -> None:
        """Take an operation in that the rules admit."""
        operation, level = self._operations[index], self._level_of(index)
        for region, source in self._reads(index):
            if source.writer not in self._level:
                key = (region.memory, source.version)
                self._inputs.setdefault(key, []).append(region)
                self._read_at.setdefault(key, level)
        if operation.kind in ("reduction", "normalization"):
            self._axes, self._space = operation.axes, operation.space
            level += 1
        elif prod(operation.space) > prod(self._space):
            self._space = operation.space
        self._level[index] = level
        for region in (*operation.reads, *operation.writes):
            self._used.setdefault(region.memory, []).append((index, region))
        self.members.append(index)

    def admits(self, index: int, *, alone: bool = False) -> Verdict:
        """Return whether an operation can be part of the group.

        Args:
            index: The operation; everything else that it needs runs before the group.
            alone: Admit one that neither reads what the group writes nor shares an input; a
                later operation needs both.
        """
        operation = self._operations[index]
        for kinds in (_ALONE, _BEGINS):
            if operation.kind in kinds and not (alone and operation.kind == "fill"):
                return Verdict(False, *kinds[operation.kind])
        if self._is_closed:
            return self._closed()
        conflict = self._conflict(index)
        if conflict is not None:
            return conflict
        related = self._related(index)
        refused = next((each for each in related if not each.joins), None)
        if refused is not None:
            return refused
        if not related:
            related = [self._unrelated(index, alone=alone)]
            if not related[0].joins:
                return related[0]
        return self._spaces(index) or self._rows(index) or max(related, key=_weight)

    def _closed(self) -> Verdict:
        first = self._first
        assert first is not None
        name = f"#{self.members[0] + 1}"
        if first.kind == "normalization":
            return self._row_too_long(first, self.members[0])
        rule, reason = _ALONE[first.kind]
        return Verdict(False, "closed" if rule != "random" else rule, f"{name} is {reason}"
                       if reason.startswith("a ") else f"{name} {reason}")  # fmt: skip

    def _reads(self, index: int) -> list[tuple[Region, Source]]:
        return list(zip(self._operations[index].reads, self._flow.sources[index], strict=True))

    def _conflict(self, index: int) -> Verdict | None:
        """Refuse to write in place what a member reads or writes at other positions."""
        for region in self._operations[index].writes:
            for member, used in self._used.get(region.memory, ()):
                if not same_order(used, region):
                    reason = f"changes in place what #{member + 1} uses in another order or in part"
                    return Verdict(False, "aliased", reason)
        return None

    def _related(self, index: int) -> list[Verdict]:
        """Return how each operand that a member writes relates to the operation."""
        found = []
        for region, source in self._reads(index):
            if source.writer in self.members and source.writer is not None:
                found.append(self._relation(index, region, source, source.writer))
        return found

    def _relation(self, index: int, region: Region, source: Source, writer: int) -> Verdict:
        operation, name = self._operations[index], f"#{writer + 1}"
        assert source.written is not None
        if not source.is_whole:
            reason = f"reads memory of which {name} wrote a part in place"
            return Verdict(False, "aliased", reason)
        if not same_bytes(region, source.written):
            return Verdict(False, "part", f"reads a part of what {name} writes")
        size, own = elements(region), prod(operation.space)
        folds = operation.kind != "pointwise"
        if self._operations[writer].kind == "fill":
            return Verdict(True, "constant", f"{name} is a constant")
        if size < own:
            if folds:
                return Verdict(False, "other space", f"folds a broadcast of what {name} writes")
            space = _extents(operation.space)
            return Verdict(True, "broadcast", f"broadcasts what {name} writes over {space}")
        if folds:
            return Verdict(True, "reduces", f"folds {_axes(operation)} of what {name} writes")
        if same_order(region, source.written):
            return Verdict(True, "same space", f"takes each element from {name} as it is computed")
        return Verdict(True, "through a view", f"takes each element of {name} once, through a view")

    def _unrelated(self, index: int, *, alone: bool) -> Verdict:
        """Judge an operation that reads nothing of what the group writes."""
        operation = self._operations[index]
        for region, source in self._reads(index):
            shared = self._inputs.get((region.memory, source.version), ())
            is_large = elements(region) == prod(operation.space) == prod(self._space)
            if is_large and any(same_order(region, each) for each in shared):
                name = f"#{self.members[0] + 1}"
                reason = f"reads the same input as the group of {name}, element by element"
                return Verdict(True, "shared input", reason)
        if alone and operation.kind in ("pointwise", "fill"):
            return Verdict(True, "same space", "is computed where the group needs it")
        if alone and operation.space == self._space:
            return Verdict(True, "same space", "folds the group's space beside the others")
        return Verdict(False, "first", "reads nothing that an earlier group computes or shares")

    def _spaces(self, index: int) -> Verdict | None:
        """Refuse an operation whose iterations do not fit the group's."""
        operation = self._operations[index]
        own, space = prod(operation.space), prod(self._space)
        folds = operation.kind in ("reduction", "normalization")
        assert self._first is not None
        if self._first.kind == "product":
            name = f"#{self.members[0] + 1}"
            if folds:
                reason = f"a tile of the product {name} does not hold whole rows"
                return Verdict(False, "tiles", reason)
            if own > space:
                return self._other_space(operation)
            if own == space and any(s.writer in self.members for _, s in self._reads(index)):
                reason = f"works on the tile of the product {name} before it is written"
                return Verdict(True, "epilogue", reason)
            return None
        if self._axes is None:
            return self._other_space(operation) if folds and own != space else None
        if folds:
            if own == space and operation.space == self._space:
                if operation.axes == self._axes:
                    return None
                reason = f"folds {_axes(operation)}, the group other axes"
                return Verdict(False, "other axes", reason)
            if own == self._rows_number():
                reason = "folds across the rows, which other CTAs hold"
                return Verdict(False, "other axes", reason)
            return self._other_space(operation)
        matches = own in (space, self._rows_number()) or not self._level_of(index)
        return None if matches and own <= space else self._other_space(operation)

    def _other_space(self, operation: RecordedOperation) -> Verdict:
        own, space = _extents(operation.space), _extents(self._space)
        return Verdict(False, "other space", f"iterates over {own}, the group over {space}")

    def _rows(self, index: int) -> Verdict | None:
        """Judge what an operation needs of rows that the group folds."""
        operation = self._operations[index]
        if operation.kind == "normalization" and not self._fits(operation):
            return self._row_too_long(operation, index)
        level = self._level_of(index)
        if not level:
            return None
        # The fold that it waits for: the last one that its operands have after them.
        fold = next(each for each in self.members if self._level[each] == level)
        folding = self._operations[fold]
        space = prod(self._space)
        if not self._reads_row_again(index):
            spreads = prod(operation.space) == space > 1
            if spreads and self._rows_number() == 1 and not self._fits(folding):
                return self._row_too_long(folding, fold)
            after = [r for r, s in self._reads(index) if s.writer in self._level]
            if any(elements(region) == space for region in after):
                return None
            reason = f"needs only the result of each row that #{fold + 1} folds"
            return Verdict(True, "row result", reason)
        if not self._fits(folding):
            return self._row_too_long(folding, fold)
        kept = count(self._kept(folding))
        reason = f"needs the row that #{fold + 1} folds again: {kept} elements stay on chip"
        return Verdict(True, "row on chip", reason)

    def _row_too_long(self, operation: RecordedOperation, index: int) -> Verdict:
        kept, limit = count(self._kept(operation)), count(self._row_limit)
        reason = f"the {kept} elements that a CTA folds in #{index + 1} do not stay on chip"
        return Verdict(False, "row too long", f"{reason} (at most {limit})")

    def _level_of(self, index: int) -> int:
        """Return how many folds of the group an operation has to wait for."""
        writers = (source.writer for _, source in self._reads(index))
        return max((self._level.get(each, 0) for each in writers if each is not None), default=0)

    def _reads_row_again(self, index: int) -> bool:
        """Whether an operation reads whole rows that are there before the fold it waits for."""
        space, level = prod(self._space), self._level_of(index)
        for region, source in self._reads(index):
            if elements(region) < space:
                continue
            at = self._read_at.get((region.memory, source.version), level)
            if source.writer is not None:
                at = self._level.get(source.writer, at)
            if at < level:
                return True
        return False

    def _rows_number(self) -> int:
        folded = self._axes or ()
        return prod(extent for axis, extent in enumerate(self._space) if axis not in folded)

    def _fits(self, operation: RecordedOperation) -> bool:
        return self._kept(operation) <= self._row_limit

    def _kept(self, operation: RecordedOperation) -> int:
        """Return the elements that a CTA keeps: a row, or as many as lie in a sector beside it."""
        row = prod(operation.space[axis] for axis in operation.axes)
        whole = [each for each in operation.reads if each.shape == operation.space]
        if not whole:
            return row
        steps = zip(whole[0].shape, whole[0].strides, strict=True)
        axes = [(stride, axis) for axis, (extent, stride) in enumerate(steps) if extent > 1]
        if not axes or min(axes)[1] in operation.axes:
            return row
        beside = whole[0].shape[min(axes)[1]]
        return row * min(beside, max(1, _SECTOR // whole[0].item_bytes))

    def bytes(self) -> tuple[int | None, int | None]:
        """Return the distinct bytes read from outside, and written of what is used there."""
        members = set(self.members)
        read: dict[Version, list[Region]] = {}
        written: dict[int, list[Region]] = {}
        for index in self.members:
            operation = self._operations[index]
            if operation.unknown:
                return None, None
            for region, source in self._reads(index):
                if source.writer not in members or not source.is_whole:
                    read.setdefault((region.memory, source.version), []).append(region)
            made = self._flow.versions[index]
            for region, version in zip(operation.writes, made, strict=True):
                if self._flow.is_used_beyond(region.memory, version, members):
                    written.setdefault(region.memory, []).append(region)
        return total(map(distinct_bytes, read.values())), total(
            map(distinct_bytes, written.values())
        )


#: The rules that say most about an operation, the last one the most.
_WEIGHTS: tuple[FusionRule, ...] = (
    "shared input", "constant", "broadcast", "same space", "through a view", "reduces",
)  # fmt: skip


def _weight(verdict: Verdict) -> int:
    return _WEIGHTS.index(verdict.rule)


def _extents(space: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, space))}]"


def _axes(operation: RecordedOperation) -> str:
    if len(operation.axes) == len(operation.space):
        return "all axes"
    named = ", ".join(map(str, operation.axes))
    return f"axis {named}" if len(operation.axes) == 1 else f"axes {named}"
