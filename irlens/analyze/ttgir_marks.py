"""Where in a ttgir its pipelines are: copies, commits and waits, and which belong together.

Groups of asynchronous copies, and of Hopper's matrix products, are counted in ttgir as they are
in PTX, and followed through the structured control flow in the same way. Barriers are values: a
wait and what it waits for belong together where both lead to the same ring of barriers.

Sources: Triton, ``TritonGPUOps.td`` and ``TritonNvidiaGPUOps.td``.
"""

from collections.abc import Hashable, Iterable, Sequence

from irlens.analyze.mlir_loops import user_line
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_source, finish, join
from irlens.analyze.ttgir_flow import StructuredFlow
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.values import Value, Values
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind

_COPIES = frozenset(
    {
        "ttg.async_copy_global_to_local",
        "amdg.buffer_load_to_local",
        "amdgpu.buffer_load_to_local",
    }
)
_BULK_COPIES = frozenset({"ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"})
#: Each is a group of its own.
_BULK_STORES = frozenset(
    {"ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter"}
)
#: Copies of AMD's tensor data mover. Nothing commits them: waits count them one by one.
_MOVES_IN = frozenset(
    {
        "amdg.async_tdm_copy_global_to_local",
        "amdg.async_tdm_fused_copy_global_to_local",
        "amdg.async_tdm_gather",
    }
)
_MOVES_OUT = frozenset({"amdg.async_tdm_copy_local_to_global", "amdg.async_tdm_scatter"})
_PRODUCTS = frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tc_gen5_commit"})
_WHICH: dict[str, tuple[PipelineKind, ...]] = {
    **dict.fromkeys(_COPIES, ("cp.async", "direct-to-lds")),
    **dict.fromkeys(_BULK_COPIES, ("tma",)),
    **dict.fromkeys(_BULK_STORES, ()),
    **dict.fromkeys(_MOVES_IN, ("direct-to-lds",)),
    **dict.fromkeys(_MOVES_OUT, ()),
    **dict.fromkeys(_PRODUCTS, ("tcgen05",)),
    "ttg.async_commit_group": ("cp.async", "direct-to-lds"),
    "ttg.async_wait": ("cp.async", "direct-to-lds"),
    "ttng.async_tma_store_wait": (),
    "amdg.async_tdm_wait": ("direct-to-lds",),
    "ttng.warp_group_dot": ("wgmma",),
    "ttng.warp_group_dot_wait": ("wgmma",),
    "ttng.barrier_expect": ("tma",),
    "ttng.wait_barrier": (),  # whatever signals it
}
#: What goes by groups, by the wait for them.
_GROUPED = {
    "ttg.async_wait": (*_COPIES, "ttg.async_commit_group"),
    "ttng.async_tma_store_wait": tuple(_BULK_STORES),
    "amdg.async_tdm_wait": (*_MOVES_IN, *_MOVES_OUT),
    "ttng.warp_group_dot_wait": ("ttng.warp_group_dot",),
}
#: Where a wait says how many it leaves outstanding.
_LEFT = {
    "ttg.async_wait": "num",
    "ttng.async_tma_store_wait": "pendings",
    "amdg.async_tdm_wait": "num",
    "ttng.warp_group_dot_wait": "pendings",
}


def find_marks(module: Module, pipelines: Sequence[Pipeline]) -> list[PipelineMark]:
    """Return the lines of a ttgir that are part of a pipeline, in ascending order.

    Args:
        module: The ttgir.
        pipelines: What the report says of the kernel's loops in machine-level IR; a loop here is
            the one with the same ``for``.
    """
    asynchronous = [each for each in module.operations if each.name in _WHICH]
    if not asynchronous:
        return []
    drafts: dict[Key, Draft] = {}
    for wait, begun in _GROUPED.items():
        names = (wait, *begun)
        _add_groups(drafts, module, {e.index: _event(e) for e in asynchronous if e.name in names})
    _Barriers(module, drafts).add(asynchronous)
    return finish(drafts, by_source(pipelines))


def _event(operation: Operation) -> Event | None:
    """What an operation does to groups; ``None`` if nothing, or nothing that could be counted."""
    line, at, name = operation.span.line, operation.start, operation.name
    if name in _COPIES:
        return Copy(line, None, at=at)
    if name == "ttng.warp_group_dot":
        # A product that does not wait for itself becomes a group of its own.
        waits = operation.attributes.get("isAsync", "false") == "false"
        return None if waits else Commit(line, certain=True, at=at)
    if name == "ttg.async_commit_group" or name in _BULK_STORES:
        return Commit(line, certain=True, at=at)
    if name not in _LEFT:
        return Commit(line, certain=True, at=at, copies=True)
    left = operation.attributes.get(_LEFT[name], "").partition(" ")[0]
    return Wait(line, int(left), certain=True, at=at) if left.isdecimal() else None


def _origin(operation: Operation) -> Hashable:
    """Where an operation comes from: lines of the source have several mechanisms' waits."""
    return (_WHICH[operation.name], operation.location) if operation.location else None


def _around(
    module: Module, operation: Operation, kinds: Iterable[PipelineKind]
) -> tuple[LoopKey, ...]:
    """The pipelines that an operation could be part of, the innermost loop's first."""
    found: list[LoopKey] = []
    parent = operation.parent
    while parent is not None:
        above = module.operations[parent]
        if above.name in ("scf.for", "scf.while"):
            found += [(str(user_line(above)), kind) for kind in kinds]
        parent = above.parent
    return tuple(found)


def _add_groups(drafts: dict[Key, Draft], module: Module, events: dict[int, Event | None]) -> None:
    """Add the operations that form groups, with what belongs together if that can be followed."""
    found = {index: event for index, event in events.items() if event is not None}
    flow = StructuredFlow(module, found)
    homes = {event.at: module.operations[index] for index, event in found.items()}
    keys = {at: _around(module, each, _WHICH[each.name]) for at, each in homes.items()}
    add_groups(
        drafts,
        flow.successors,
        flow.events,
        origins={at: _origin(operation) for at, operation in homes.items()},
        loops=keys,
    )


class _Barriers:
    """Joins what signals a ring of barriers with what waits for it.

    Which barrier of its ring an operation means is a matter of run time. But where one wait is
    all that ever asks a ring, it is the one that whatever signals the ring is waited for by.
    """

    def __init__(self, module: Module, drafts: dict[Key, Draft]) -> None:
        self._module = module
        self._values = Values(module)
        self._drafts = drafts

    def add(self, operations: Iterable[Operation]) -> None:
        """Add bulk copies, announcements of bytes, Blackwell's products, and waits."""
        signals: dict[int, list[tuple[Operation, Key]]] = {}
        waits: dict[int | None, list[tuple[Operation, Key]]] = {}
        for operation in operations:
            ring = self._ring(operation)
            if operation.name == "ttng.wait_barrier":
                waits.setdefault(ring, []).append((operation, self._draft(operation, "wait")))
            elif operation.name in _BULK_COPIES:
                key = self._draft(operation, "copy")
                if ring is not None:
                    signals.setdefault(ring, []).append((operation, key))
            elif operation.name == "ttng.barrier_expect" or operation.name in _PRODUCTS:
                key = self._draft(operation, "commit")
                if ring is not None:
                    signals.setdefault(ring, []).append((operation, key))
        for ring, found in signals.items():
            self._close(found)
            self._wait(found, waits.get(ring, []), alone=None not in waits)

    def _wait(
        self,
        signals: Sequence[tuple[Operation, Key]],
        waits: Sequence[tuple[Operation, Key]],
        *,
        alone: bool,
    ) -> None:
        """Join what signals a ring with its wait, if there is one and no other could be for it."""
        kinds = {kind for operation, _ in signals for kind in _WHICH[operation.name]}
        for operation, key in waits:
            if len(kinds) == 1:
                self._drafts[key].loops = _around(self._module, operation, kinds)
        for _, key in signals:
            if key[1] == "commit" and alone and len(waits) == 1:
                join(self._drafts, key, waits[0][1])

    def _draft(self, operation: Operation, role: PipelineRole) -> Key:
        key: Key = (operation.start, role)
        loops = _around(self._module, operation, _WHICH[operation.name])
        self._drafts[key] = Draft(operation.span.line, _origin(operation), loops)
        return key

    def _close(self, found: list[tuple[Operation, Key]]) -> None:
        """Join copies with the announcement of their bytes: the same barrier in the same block."""
        expected = {
            (each.parent, self._barrier(each)): key for each, key in found if key[1] == "commit"
        }
        for operation, key in found:
            commit = expected.get((operation.parent, self._barrier(operation)))
            if key[1] == "copy" and commit is not None:
                self._drafts[key].partners.add(commit)

    def _barrier(self, operation: Operation) -> Value | None:
        """The barrier among the operands: what leads to a ring of them."""
        for value in self._values.operands[operation.index]:
            if value is not None and self._rings(value):
                return value
        return None

    def _ring(self, operation: Operation) -> int | None:
        """The ring of barriers that an operation works on; ``None`` if that is not one for sure."""
        barrier = self._barrier(operation)
        rings = self._rings(barrier) if barrier is not None else set()
        return next(iter(rings)) if len(rings) == 1 else None

    def _rings(self, value: Value) -> set[int]:
        """The allocations of barriers that a value may lie in, by their operation's index."""
        found: set[int] = set()
        seen: set[Value] = set()
        waiting: list[Value | None] = [value]
        while waiting:
            each = waiting.pop()
            if each is None or each in seen:
                continue
            seen.add(each)
            operation = self._module.operations[each.operation]
            operands = self._values.operands[each.operation]
            if operation.name == "ttg.local_alloc":
                if any("xi64" in kind for kind in operation.result_types):
                    found.add(operation.index)
            elif operation.name == "ttg.memdesc_index":
                waiting += operands[:1]
            elif operation.name == "scf.for":
                waiting += self._carried(operation, each)
        return found

    def _carried(self, loop: Operation, value: Value) -> list[Value | None]:
        """What a loop's result, or its block's argument, is at first and behind an iteration."""
        arguments = [
            a for region in loop.regions for block in region.blocks for a in block.arguments
        ]
        # The first argument is the induction variable, which no result stands for.
        number = value.number if value.region is not None else value.number + 1
        if not 1 <= number < len(arguments):
            return []
        initial = arguments[number].initial
        body = self._module.body(loop)
        found = [self._values.initial(loop, initial)] if initial is not None else []
        if body and body[-1].name == "scf.yield":
            yielded = self._values.operands[body[-1].index]
            found += yielded[number - 1 : number]
        return found
