"""Which operation wrote what another one reads, by versions of memories."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from irlens.analyze.regions import distinct_bytes, same_bytes
from irlens.model.operations import RecordedProgram, Region


class Source(NamedTuple):
    """Where the content of a region comes from.

    Attributes:
        writer: Index of the operation that wrote to the memory last; ``None`` for an input.
        version: Number of writes to the memory before, which tells contents apart.
    """

    writer: int | None
    version: int
    written: Region | None
    is_whole: bool


#: A memory's number, and the number of writes to it.
Version = tuple[int, int]


class Flow(msgspec.Struct):
    """The data flow of a program.

    Attributes:
        sources: Of each operation the source of each of its reads.
        versions: Of each operation the version that each of its writes makes.
        before: Of each operation the operations that must run before it.
        carried: Versions of which the next write to the memory leaves a part.
        live: The versions that are used after the program.
    """

    sources: list[tuple[Source, ...]]
    versions: list[tuple[int, ...]]
    before: list[set[int]]
    readers: dict[Version, set[int]]
    carried: set[Version]
    live: set[Version]

    def is_used_beyond(self, memory: int, version: int, operations: set[int]) -> bool:
        """Whether a version is used by others than some operations, or after the program."""
        while True:
            if (memory, version) in self.live:
                return True
            if not self.readers.get((memory, version), set()) <= operations:
                return True
            if (memory, version) not in self.carried:
                return False
            version += 1


class _Memory(msgspec.Struct):
    """The state of a memory while the operations are followed."""

    version: int = 0
    writer: int | None = None
    written: Region | None = None
    readers: set[int] = msgspec.field(default_factory=set)
    writers: set[int] = msgspec.field(default_factory=set)


def flow_of(program: RecordedProgram) -> Flow:
    """Return the data flow of a program."""
    memories: dict[int, _Memory] = {}
    flow = Flow([], [], [], {}, set(), set())
    for index, operation in enumerate(program.operations):
        before: set[int] = set()
        if operation.kind == "view":  # which reads nothing, and writes nothing
            seen = [(region, memories.get(region.memory, _Memory())) for region in operation.reads]
            flow.sources.append(
                tuple(Source(m.writer, m.version, m.written, True) for _, m in seen)
            )
            flow.versions.append(())
            flow.before.append(before)
            continue
        flow.sources.append(
            tuple(
                _read(memories.setdefault(region.memory, _Memory()), region, index, before, flow)
                for region in operation.reads
            )
        )
        flow.versions.append(
            tuple(
                _write(memories.setdefault(region.memory, _Memory()), region, index, before, flow)
                for region in operation.writes
            )
        )
        flow.before.append(before - {index})
    flow.live.update(_live(program, memories, flow))
    return flow


def _read(memory: _Memory, region: Region, index: int, before: set[int], flow: Flow) -> Source:
    is_whole = memory.written is None or covers(memory.written, region)
    if is_whole and memory.writer is not None:
        before.add(memory.writer)
    else:
        before |= memory.writers
    memory.readers.add(index)
    flow.readers.setdefault((region.memory, memory.version), set()).add(index)
    return Source(memory.writer, memory.version, memory.written, is_whole)


def _write(memory: _Memory, region: Region, index: int, before: set[int], flow: Flow) -> int:
    before |= memory.readers | memory.writers
    if memory.written is None or covers(region, memory.written):
        memory.writers = {index}
    else:
        flow.carried.add((region.memory, memory.version))
        memory.writers.add(index)
    memory.readers = set()
    memory.version += 1
    memory.writer, memory.written = index, region
    return memory.version


def covers(region: Region, other: Region) -> bool:
    """Whether a region has every byte of another one of the same memory."""
    if region.most is not None:
        return False  # data decides which
    if region == other or same_bytes(region, other):
        return True
    both, own = distinct_bytes([region, other]), distinct_bytes([region])
    return both is not None and both == own


def _live(program: RecordedProgram, memories: dict[int, _Memory], flow: Flow) -> Iterator[Version]:
    """Yield the last versions that are outputs: held, returned, or an input changed in place.

    In a program, which returns nothing, so is a result that nobody reads, unless the same
    operation has another that is read: an index beside each maximum.
    """
    held = {*program.held, *program.names, *(region.memory for region in program.outputs or ())}
    for number, memory in memories.items():
        if memory.writer is None:
            continue
        if number in held:
            yield number, memory.version
        elif program.outputs is None and not flow.readers.get((number, memory.version)):
            writes = program.operations[memory.writer].writes
            made = zip(writes, flow.versions[memory.writer], strict=True)
            if not any(flow.readers.get((each.memory, version)) for each, version in made):
                yield number, memory.version
