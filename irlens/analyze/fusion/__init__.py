"""What the operations of a program move, and what fusing them saves.

``ledger_of`` takes the operations that were recorded, and returns them with their bytes, the groups
that one kernel each could do, and the rule that decides for each operation. Groups are in an order
in which they can run: whatever an operation needs is in its own group or in an earlier one.
"""

from collections.abc import Sequence

from irlens.analyze.fusion.dataflow import Flow, flow_of
from irlens.analyze.fusion.rules import ROW_LIMIT, Group, Verdict, own_kernel
from irlens.analyze.regions import distinct_bytes
from irlens.model.ledger import FusionGroup, Ledger, LedgerKind, LedgerOperation, Moved
from irlens.model.operations import RecordedOperation, RecordedProgram, Region
from irlens.model.several import total

__all__ = ["ROW_LIMIT", "ledger_of"]

#: Earlier groups that may share an input with an operation that needs none of them.
_REACH = 16
#: Beyond that many operations, groups are not united.
_MOST_UNITED = 512
#: Groups are not moved past more others than that.
_FAR = 64


class Grouping:
    """The groups of a program.

    Attributes:
        verdicts: Of each operation what decided that it joins its group, or begins it.
    """

    def __init__(self, program: RecordedProgram, flow: Flow, row_limit: int) -> None:
        self.verdicts: list[Verdict] = []
        self._operations = program.operations
        self._flow = flow
        self._row_limit = row_limit
        self._slots: list[Group | None] = []
        #: The slot of each operation's group; views have none.
        self._slot_of: dict[int, int] = {}
        for index, operation in enumerate(self._operations):
            if operation.kind == "view":
                reason = "a view: another shape of the same memory, which moves nothing"
                self.verdicts.append(Verdict(True, "view", reason))
            else:
                self.verdicts.append(self._place(index))

    @property
    def groups(self) -> list[Group]:
        """The groups in the order in which they can run."""
        return [group for group in self._slots if group is not None]

    def _place(self, index: int) -> Verdict:
        """Put an operation into a group."""
        needed = sorted({self._slot_of[each] for each in self._flow.before[index]}, reverse=True)
        if not needed:
            return self._place_freely(index)
        first: Verdict | None = None
        for number, slot in enumerate(needed):
            verdict = self._group(slot).admits(index)
            first = first or verdict
            if verdict.joins and (not number or self._is_free(slot, len(self._slots))):
                host = slot if not number else self._moved_to_end(slot)
                for other in needed:
                    if other != slot:
                        self._unite(host, other, index)
                verdict = self._group(host).admits(index)
                self._take(host, index)
                return verdict
        assert first is not None
        self._begin(index)
        return (
            first
            if not first.joins
            else Verdict(False, "other space", "needs several groups that cannot be one")
        )

    def _group(self, slot: int) -> Group:
        """Return the group of a slot that has one."""
        group = self._slots[slot]
        assert group is not None
        return group

    def _take(self, slot: int, index: int) -> None:
        self._group(slot).take(index)
        self._slot_of[index] = slot

    def _is_free(self, slot: int, until: int) -> bool:
        """Whether no group after a slot, up to another one, needs what the slot's group does."""
        if until - slot > _FAR:
            return False
        moved = set(self._group(slot).members)
        return not any(
            not moved.isdisjoint(self._flow.before[each])
            for between in self._slots[slot + 1 : until]
            if between is not None
            for each in between.members
        )

    def _moved_to_end(self, slot: int) -> int:
        """Let a group run last, and return its new slot."""
        group = self._group(slot)
        self._slots[slot] = None
        self._slots.append(group)
        self._slot_of.update(dict.fromkeys(group.members, len(self._slots) - 1))
        return len(self._slots) - 1

    def _place_freely(self, index: int) -> Verdict:
        """Put an operation that needs no other one beside one that shares an input."""
        for slot in range(len(self._slots) - 1, max(-1, len(self._slots) - 1 - _REACH), -1):
            group = self._slots[slot]
            verdict = group.admits(index) if group is not None else None
            if group is not None and verdict is not None and verdict.joins:
                self._take(slot, index)
                return verdict
        self._begin(index)
        return own_kernel(self._operations[index]) or Verdict(
            False, "first", "reads nothing that an earlier group computes or shares"
        )

    def _begin(self, index: int) -> None:
        group = Group(self._operations, self._flow, self._row_limit)
        group.begin(index)
        self._slot_of[index] = len(self._slots)
        self._slots.append(group)

    def _unite(self, slot: int, other: int, index: int) -> None:
        """Put an earlier group into a later one, if that allows it for an operation of both."""
        group, earlier = self._slots[slot], self._slots[other]
        if group is None or earlier is None:
            return
        if len(group.members) + len(earlier.members) > _MOST_UNITED:
            return
        if not self._is_free(other, slot + 1):
            return
        for parts in ((group, earlier), (earlier, group)):
            united = Group(self._operations, self._flow, self._row_limit)
            verdicts = _refill(united, [each for part in parts for each in part.members])
            if verdicts is not None and united.admits(index).joins:
                for member, verdict in verdicts.items():
                    self.verdicts[member] = verdict
                self._slots[slot], self._slots[other] = united, None
                self._slot_of.update(dict.fromkeys(earlier.members, slot))
                return


def _refill(group: Group, members: list[int]) -> dict[int, Verdict] | None:
    """Put operations into an empty group; return why each is there, the first excepted.

    Returns:
        ``None`` if a rule forbids it.
    """
    first, *others = members
    group.begin(first)
    verdicts = {}
    for member in others:
        verdicts[member] = group.admits(member, alone=True)
        if not verdicts[member].joins:
            return None
        group.take(member)
    return verdicts


#: Why bytes of overlapping regions are unknown.
_OVERLAP = "regions of one memory overlap in too many places to count"


def ledger_of(
    program: RecordedProgram, name: str, kind: LedgerKind, *, row_limit: int = ROW_LIMIT
) -> Ledger:
    """Return the ledger of a program.

    Args:
        row_limit: Elements of a row that one CTA is assumed to keep on chip.
    """
    flow = flow_of(program)
    grouping = Grouping(program, flow, row_limit)
    groups = grouping.groups
    number_of = {index: n for n, group in enumerate(groups, 1) for index in group.members}
    operations = [
        _row(program, flow, index, number_of.get(index), verdict)
        for index, verdict in enumerate(grouping.verdicts)
    ]
    kernels = [each for each in operations if each.group is not None]
    records = [_group(number, group, operations) for number, group in enumerate(groups, 1)]
    return Ledger(
        name=name,
        kind=kind,
        separate=_moved(len(kernels), [(e.read_bytes, e.written_bytes) for e in kernels]),
        grouped=_moved(len(records), [(e.read_bytes, e.written_bytes) for e in records]),
        one_pass=_one_pass(program, flow),
        operations=operations,
        groups=records,
        row_limit=row_limit,
        at_most=list(dict.fromkeys(each.at_most for each in operations if each.at_most)),
        unknown=list(dict.fromkeys(each.unknown for each in operations if each.unknown)),
    )


def _row(
    program: RecordedProgram, flow: Flow, index: int, group: int | None, verdict: Verdict
) -> LedgerOperation:
    """Return the record of an operation."""
    operation = program.operations[index]
    read, written = _own_bytes(operation)
    unknown = operation.unknown
    if not unknown and None in (read, written):
        unknown = _OVERLAP
    return LedgerOperation(
        number=index + 1,
        name=operation.name,
        kind=operation.kind,
        inputs=_inputs(program, flow, index),
        outputs=[region.text for region in operation.writes],
        read_bytes=read,
        written_bytes=written,
        source=operation.source,
        graph=operation.graph,
        group=group,
        rule=verdict.rule,
        reason=_reason(operation, read, verdict),
        requested_bytes=operation.requested_bytes,
        at_most=operation.at_most,
        unknown=unknown,
    )


def _inputs(program: RecordedProgram, flow: Flow, index: int) -> list[str]:
    """Return what an operation reads, by the operation that wrote it or the tensor's name."""
    named = []
    for region, source in zip(program.operations[index].reads, flow.sources[index], strict=True):
        name = program.names.get(region.memory, "")
        if source.writer is not None:
            name = f"#{source.writer + 1}"
        named.append(f"{name} {region.text}".strip())
    return list(dict.fromkeys(named))


def _reason(operation: RecordedOperation, read: int | None, verdict: Verdict) -> str:
    """Return why an operation is where it is; of a launch also how often it loads a byte."""
    reason = verdict.reason if verdict.joins else f"new group: {verdict.reason}"
    requested = operation.requested_bytes
    if read and requested is not None and requested > read:
        return f"{reason}; it loads each byte {requested / read:.2f} times on average"
    return reason


def _own_bytes(operation: RecordedOperation) -> tuple[int | None, int | None]:
    if operation.kind == "view":
        return 0, 0
    if operation.unknown:
        return None, None
    return distinct_bytes(operation.reads), distinct_bytes(operation.writes)


def _group(number: int, group: Group, operations: Sequence[LedgerOperation]) -> FusionGroup:
    members = [operations[index] for index in sorted(group.members)]
    # What is alone runs as it is, and also writes what nobody reads.
    alone = members[0] if len(members) == 1 else None
    read, written = (alone.read_bytes, alone.written_bytes) if alone else group.bytes()
    return FusionGroup(
        number=number,
        operations=[each.number for each in members],
        read_bytes=read,
        written_bytes=written,
        separate_read_bytes=total(each.read_bytes for each in members),
        separate_written_bytes=total(each.written_bytes for each in members),
    )


def _moved(kernels: int, parts: Sequence[tuple[int | None, int | None]]) -> Moved:
    return Moved(
        kernels=kernels,
        read_bytes=total(read for read, _ in parts),
        written_bytes=total(written for _, written in parts),
    )


def _one_pass(program: RecordedProgram, flow: Flow) -> Moved:
    """Return the bytes of the inputs and of the outputs, each once."""
    inputs: set[Region] = set()
    outputs: set[Region] = set()
    everything = set(range(len(program.operations)))
    given = set(program.names)
    known = True
    for index, operation in enumerate(program.operations):
        if operation.kind == "view":
            continue
        known &= not operation.unknown
        for region, source in zip(operation.reads, flow.sources[index], strict=True):
            if source.writer is None:
                given.add(region.memory)
            if source.writer is None or (not source.is_whole and region.memory in given):
                inputs.add(region)
        for region, version in zip(operation.writes, flow.versions[index], strict=True):
            if flow.is_used_beyond(region.memory, version, everything):
                outputs.add(region)
    return Moved(
        kernels=1 if inputs or outputs else 0,
        read_bytes=distinct_bytes(inputs) if known else None,
        written_bytes=distinct_bytes(outputs) if known else None,
    )
