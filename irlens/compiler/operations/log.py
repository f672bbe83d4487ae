"""Record operators as they run: what each reads and writes, and of which memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import msgspec
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from irlens.compiler.calls.dtypes import name_of_torch
from irlens.compiler.capture_files import Launch
from irlens.compiler.fake_cuda.recorded_operators import tensors_in, written_by
from irlens.compiler.operations.kinds import (
    ALLOCATIONS,
    folded_axes,
    kind_of,
    overwrites,
    short_name,
)
from irlens.compiler.operations.origins import user_line
from irlens.compiler.operations.touched import is_named_by_data, scattered_elements, touched_reads
from irlens.compiler.tally import Pausable
from irlens.model.operations import (
    CompiledGraph,
    OperationKind,
    Recorded,
    RecordedLaunch,
    RecordedOperation,
    RecordedProgram,
    Region,
)

#: Operators of a program that are kept; the others are counted.
_MOST_OPERATIONS = 50_000
_GATHERED = "a gather reads at most as many elements as it writes; which ones depends on data"
_SCATTERED = "a scatter writes at most as many elements as it is given; which ones depends on data"
_NAMED = "an operator reads at most one element for each index; which ones depends on data"
_AT_MOST = {"gather": _GATHERED, "scatter": _SCATTERED}

#: The log of this process, if there is one.
_ACTIVE: list["OperationLog"] = []


def activate() -> "OperationLog":
    """Return the log of this process, from now on ``active``."""
    from irlens.compiler.fake_cuda.device import is_fake

    _ACTIVE[:] = [OperationLog(is_fake)]
    return _ACTIVE[0]


def active() -> "OperationLog":
    """Return the log of this process.

    Raises:
        LookupError: There is none.
    """
    if not _ACTIVE:
        raise LookupError("no operators are recorded")
    return _ACTIVE[0]


class OperationLog(Pausable):
    """The operators that ran, and the memories that they used.

    Args:
        is_on_gpu: Whether a tensor is on the GPU whose memory is of interest.

    Attributes:
        operations: What ran, in order.
        graph: Name of the compiled graph that is running; empty outside of any.
        generated: Folders of files that are not the program's own.
        is_transfer: Whether a tensor is being copied to the host or from it.
    """

    def __init__(self, is_on_gpu: Callable[[torch.Tensor], bool]) -> None:
        self.operations: list[RecordedOperation] = []
        self.graph = ""
        self.graphs: list[CompiledGraph] = []
        self.dropped = 0
        self.generated: tuple[str, ...] = ()
        self.is_transfer = False
        self._is_on_gpu = is_on_gpu
        self._memories: dict[StorageWeakRef, int] = {}

    def clear(self) -> None:
        """Forget the operators, and keep the memories."""
        self.operations.clear()

    def note(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Record an operator that ran."""
        if self.is_paused or short_name(function) in ALLOCATIONS:
            return
        with torch._C.DisableTorchFunction():
            self._record(function, args, kwargs, result)

    def _record(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        arguments = _named(function, args, kwargs)
        changed = [each for each in written_by(function, (), arguments) if self._is_on_gpu(each)]
        tensors = tensors_in(arguments)
        given = [each for each in tensors if self._is_on_gpu(each)]
        results = [each for each in tensors_in(result) if self._is_on_gpu(each)]
        if not results and not changed:
            return  # a query of the shape
        known = {self._memory(each) for each in given}
        created = [each for each in results if self._memory(each) not in known]
        written = [*changed, *created]
        if not written:
            of, views = map(self.region, given), map(self.region, results)
            self._append(function, "view", of, views, (), ())
            return
        comes_from_host = not given and any(each.dim() for each in tensors)
        kind = "transfer" if comes_from_host or self.is_transfer else kind_of(function)
        unread = [id(each) for each in changed] if overwrites(function) else []
        unread += [id(arguments[name]) for name in _outputs(function) if name in arguments]
        taken = [] if kind == "fill" else [each for each in given if id(each) not in unread]
        space: tuple[int, ...] = tuple(written[0].shape)
        axes: tuple[int, ...] = ()
        if kind in ("reduction", "normalization") and taken:
            space = tuple(taken[0].shape)
            axes = folded_axes(arguments, space)
        parts = touched_reads(function, arguments, results, self.region)
        taken = [each for each in taken if parts.get(id(each), each) is not None]
        reads = [parts.get(id(each)) or self.region(each) for each in taken]
        writes = list(map(self.region, written))
        if kind == "gather" and reads:
            reads[0] = msgspec.structs.replace(reads[0], most=prod(writes[0].shape))
        if kind == "scatter" and changed:
            reads, writes = _scattered(function, arguments, reads, writes)
        self._append(function, kind, reads, writes, space, axes)

    def _append(
        self,
        function: Any,
        kind: OperationKind,
        reads: Iterable[Region],
        writes: Iterable[Region],
        space: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> None:
        self._keep(
            RecordedOperation(
                name=f"{function.namespace}.{short_name(function)}",
                kind=kind,
                reads=tuple(dict.fromkeys(reads)),
                writes=tuple(dict.fromkeys(writes)),
                space=space,
                axes=axes,
                source=user_line(self.generated),
                graph=self.graph,
                at_most=_AT_MOST.get(
                    kind, _NAMED if is_named_by_data(short_name(function)) else ""
                ),
            )
        )

    def launch(self, launch: Launch, name: str, arguments: dict[str, Any]) -> None:
        """Record a launch of a Triton kernel."""
        if self.is_paused:
            return
        with torch._C.DisableTorchFunction():
            values = {key: getattr(value, "base", value) for key, value in arguments.items()}
            tensors = {
                key: self.region(value)
                for key, value in values.items()
                if isinstance(value, torch.Tensor) and self._is_on_gpu(value)
            }
        self._keep(
            RecordedOperation(
                name=name,
                kind="kernel",
                source=user_line(self.generated),
                graph=self.graph,
                launch=RecordedLaunch(launch.entry, launch.args, launch.grid, tensors),
            )
        )

    def _keep(self, operation: RecordedOperation) -> None:
        if len(self.operations) < _MOST_OPERATIONS:
            self.operations.append(operation)
        else:
            self.dropped += 1

    def region(self, tensor: torch.Tensor) -> Region:
        """Return what a tensor is of which memory."""
        with torch._C.DisableTorchFunction():
            return Region(
                memory=self._memory(tensor),
                dtype=name_of_torch(tensor.dtype),
                item_bytes=tensor.element_size(),
                shape=tuple(map(int, tensor.shape)),
                strides=tuple(map(int, tensor.stride())),
                offset=int(tensor.storage_offset()),
            )

    def _memory(self, tensor: torch.Tensor) -> int:
        key = StorageWeakRef(tensor.untyped_storage())
        return self._memories.setdefault(key, len(self._memories))

    def recorded(self) -> Recorded:
        """Return all that has been recorded of this process."""
        return Recorded(program=self.program(), graphs=tuple(self.graphs), dropped=self.dropped)

    def held(self) -> tuple[int, ...]:
        """Return the memories that exist at present."""
        return tuple(number for key, number in self._memories.items() if not key.expired())

    def program(
        self,
        names: dict[str, Any] | None = None,
        outputs: Iterable[Any] | None = None,
        first: int = 0,
    ) -> RecordedProgram:
        """Return what has been recorded.

        Args:
            outputs: Tensors that a function returned; ``None`` for a program.
        """
        tensors = {name: each for name, each in (names or {}).items() if torch.is_tensor(each)}
        return RecordedProgram(
            operations=tuple(self.operations[first:]),
            names={self.region(tensor).memory: name for name, tensor in tensors.items()},
            outputs=None if outputs is None else tuple(map(self.region, outputs)),
            held=() if outputs is not None else self.held(),
        )


class RecordingMode(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Records the operators that run in its context."""

    def __init__(self, log: OperationLog) -> None:
        super().__init__()
        self._log = log

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self._log.note(func, args, kwargs or {}, result)
        return result


def _named(function: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operator by name."""
    names = [argument.name for argument in function._schema.arguments]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _scattered(
    function: Any, arguments: dict[str, Any], reads: Sequence[Region], writes: Sequence[Region]
) -> tuple[list[Region], list[Region]]:
    """Return what an operator reads and writes that changes elements which data selects.

    It reads those elements where it adds to them.
    """
    sources = reads[1:]
    most = scattered_elements(function, arguments)
    if most is None:
        most = max((prod(each.shape) for each in sources), default=0)
    some = msgspec.structs.replace(writes[0], most=most)
    name = short_name(function)
    adds = "add" in name or "reduce" in name or arguments.get("accumulate") is True
    return [*([some] if adds else []), *sources], [some, *writes[1:]]


def _outputs(function: Any) -> Iterator[str]:
    """Yield the names of arguments that only receive the result."""
    for argument in function._schema.arguments:
        if argument.is_out:
            yield argument.name
