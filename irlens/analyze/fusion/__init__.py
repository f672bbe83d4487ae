"""What the operations of a program move, and what fusing them saves.

``ledger_of`` takes the operations that were recorded, and returns them with their bytes, the groups
that one kernel each could do, and the rule that decides for each operation.
"""

from collections.abc import Sequence

from irlens.analyze.fusion.dataflow import Flow, flow_of
from irlens.analyze.fusion.grouping import Grouping
from irlens.analyze.fusion.rules import ROW_LIMIT, Group, Verdict
from irlens.analyze.regions import distinct_bytes, total
from irlens.model.ledger import FusionGroup, Ledger, LedgerKind, LedgerOperation, Moved
from irlens.model.operations import RecordedOperation, RecordedProgram, Region

__all__ = ["ROW_LIMIT", "ledger_of"]

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
