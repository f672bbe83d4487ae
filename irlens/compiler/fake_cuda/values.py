"""Values of fake tensors, computed on the CPU when a program asks for them.

Most programs that read a value read one that no Triton kernel wrote: the maximum of sequence
lengths, the number of elements in a mask. So every operator that runs on fake tensors is recorded,
and what a read depends on is computed then. Memory has versions: an operator that writes to a
tensor makes a new one, and what was recorded before keeps the old one.

What a Triton kernel wrote stays unknown. Random numbers are drawn on the CPU.
"""

import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Literal, TypeAlias

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.attention import ATTENTION_ON_CPU
from irlens.compiler.fake_cuda.device import is_fake, memory_of, plain_pytorch
from irlens.compiler.fake_cuda.recorded_operators import (
    Input,
    Layout,
    OnCpu,
    Operator,
    Version,
    is_input,
    reads_no_values,
    written_by,
)
from irlens.compiler.operations.kinds import UNINITIALIZED, short_name

#: Limits for a program: recorded operators, seconds of computing; for a read: bytes, operations.
_MAX_RECORDED, _MAX_SECONDS, _MAX_BYTES, _MAX_FLOPS = 200_000, 60.0, 4 << 30, 400e9
#: The most bytes and operations that values may take which the program does not ask for.
_LITTLE = 1 << 28
#: The devices that a program sees tensors on.
Side: TypeAlias = Literal["cpu", "cuda"]

#: Tensors on the CPU up to this size are copied; larger ones must not change until they are read.
_COPIED_BYTES = 1 << 20
#: Between two removals of the memory that was freed.
_PURGE_INTERVAL = 1024

#: Receives an operator that ran, its arguments and its result.
Observer: TypeAlias = Callable[[Any, Any, dict[str, Any], Any], None]


class Values:
    """The values of all fake tensors of a process.

    Args:
        assumed: The number that unknown values are assumed to be; ``None`` assumes nothing.

    Attributes:
        observe: Takes every operator that runs on the GPU, its arguments and its result.
    """

    def __init__(self, deviations: Deviations, assumed: float | None) -> None:
        self.observe: Observer = lambda function, args, kwargs, result: None
        self._deviations = deviations
        self._assumed = assumed
        self._versions: dict[StorageWeakRef, Version] = {}
        self._on_host: set[StorageWeakRef] = set()
        self._recorded = 0
        self._seconds = 0.0
        self._held_bytes = 0

    def written(self, tensor: torch.Tensor, kernel: str) -> None:
        """Mark the memory of a tensor as written by a Triton kernel."""
        with torch._C.DisableTorchFunction():  # to the program, it is on "cuda"
            self.forget(tensor, f"which only the kernel {kernel} computes")

    def forget(self, tensor: Any, reason: str) -> None:
        """Mark the memory of a fake tensor as unknown, for a reason."""
        if is_fake(tensor):
            self._set(tensor, Version(reason=reason))

    def unknown(self, value: Any, reason: str) -> Any:
        """Return a fake tensor with unknown values for a tensor, anything else unchanged."""
        if not isinstance(value, torch.Tensor):
            return value
        if not is_fake(value):
            value = value.to("meta")
            self.place(value, "cpu")
        self.forget(value, reason)
        return value

    def fill(self, tensor: torch.Tensor, value: bool) -> None:
        """Set the values of a fake tensor of booleans."""
        with plain_pytorch():
            values = torch.full(tuple(tensor.shape), value, device="cpu")
        self._keep(tensor, values, assumed=False)

    def side(self, tensor: torch.Tensor) -> Side:
        """Return the device that the program sees a fake tensor on."""
        on_host = bool(self._on_host) and memory_of(tensor) in self._on_host
        return "cpu" if on_host else "cuda"

    def move(self, tensor: torch.Tensor, device: Side) -> torch.Tensor:
        """Return a fake tensor on the other device, a copy unless it is there already."""
        if self.side(tensor) == device:
            return tensor
        moved: torch.Tensor = _Move.apply(tensor, self, device)
        return moved

    def place(self, tensor: torch.Tensor, device: Side) -> None:
        """Set the device of a fake tensor's memory, as the program sees it."""
        if device == "cpu":
            self._on_host.add(memory_of(tensor))
        else:
            self._on_host.discard(memory_of(tensor))

    def note(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Record an operator that ran on fake tensors."""
        self.observe(function, args, kwargs, result)
        old = {memory_of(each) for each in tree_leaves((args, kwargs)) if is_fake(each)}
        created: dict[StorageWeakRef, tuple[int, torch.Tensor]] = {}
        for index, each in enumerate(tree_leaves(result)):
            if is_fake(each) and memory_of(each) not in old:
                created.setdefault(memory_of(each), (index, each))
        tensors = [each for each in written_by(function, args, kwargs) if is_fake(each)]
        written = {memory_of(each): each for each in tensors}
        if not created and not written:
            return  # a view
        self._recorded += 1
        operator = None
        if self._recorded <= _MAX_RECORDED:
            captured = _by_shape if reads_no_values(function) else self._captured
            operator = Operator(
                function=function,
                args=captured(args),
                kwargs=captured(kwargs),
                number=self._recorded,
                flops=flops_of(function, args, kwargs, result),
            )
        reason = f"which the CPU does not compute after {_MAX_RECORDED:,} operators"
        for tensor in written.values():
            version = Version(operator, reason)
            if operator is not None:
                operator.written.append((self._input(tensor), version))
            self._set(tensor, version)
        on_host = bool(self._on_host) and bool(old) and old <= self._on_host
        for index, tensor in created.values():
            self.place(tensor, "cpu" if on_host and "device" not in kwargs else "cuda")
            version = Version(operator, reason)
            if operator is not None:
                operator.created.append((index, Layout.of(tensor), version))
            self._set(tensor, version)

    def read(self, tensor: torch.Tensor, what: str) -> torch.Tensor:
        """Return a fake tensor's values on the CPU.

        Raises:
            NoValueError: They are unknown, or take too much memory or time.
        """
        source = self._input(tensor)
        with plain_pytorch():
            if source.version.memory is None:
                self._compute(source.version, what)
                self._deviations.computed += 1
            return self._view(source).clone()

    def known(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return a fake tensor's values if they are known at little cost; ``None`` if not."""
        what = "a tensor"
        with torch._C.DisableTorchFunction():  # to the program, it is on "cuda"
            if not is_fake(tensor):
                return None
            with suppress(NoValueError), plain_pytorch():
                self.check_known(tensor, what)
                source = self._input(tensor)
                if source.version.memory is None:
                    order = self._ordered(source.version, what)
                    if sum(each.cost() + each.flops for each in order) > _LITTLE:
                        return None
                    self._compute(source.version, what)
                return self._view(source).clone()
        return None

    def check_known(self, tensor: torch.Tensor, what: str) -> None:
        """Raise ``NoValueError`` if a tensor's values depend on what is unknown or assumed."""
        version = self._input(tensor).version
        if version.maker is not None and short_name(version.maker.function) in UNINITIALIZED:
            # A program may pass addresses of tensors to its kernels in another tensor.
            raise NoValueError(what, "which the program leaves uninitialized")
        made = () if version.memory is not None else self._ordered(version, what)
        sources = [source.version for each in made for source in each.inputs()]
        for each in (version, *sources):
            if each.assumed or (each.memory is None and each.maker is None):
                raise NoValueError(what, each.reason)

    def run(self, function: Any, args: Any, kwargs: dict[str, Any], what: str) -> Any:
        """Run an operator on the CPU whose results depend on values.

        Raises:
            NoValueError: The values are unknown, or take too much memory or time.
        """

        def real(value: Any) -> Any:
            return self.read(value, what) if is_fake(value) else _on_cpu(value)

        real_args, real_kwargs = tree_map(real, (args, kwargs))
        fakes = [each for each in tree_leaves((args, kwargs)) if is_fake(each)]
        assumed = any(self._input(each).version.assumed for each in fakes)
        with plain_pytorch():
            result = function(*real_args, **real_kwargs)
        written = list(written_by(function, args, kwargs))
        for tensor, value in zip(
            written, written_by(function, real_args, real_kwargs), strict=True
        ):
            if is_fake(tensor):
                self._keep(tensor, value, assumed=assumed)
        if written:
            return written[0]
        device = kwargs.get("device")
        to_cpu = isinstance(device, torch.device) and device.type == "cpu"
        return result if to_cpu else tree_map(partial(self._lifted, assumed=assumed), result)

    def _lifted(self, value: Any, *, assumed: bool) -> Any:
        """Return a fake tensor with the values of one on the CPU, anything else unchanged."""
        if not isinstance(value, torch.Tensor):
            return value
        with plain_pytorch():
            fake = torch.empty_strided(
                value.shape, value.contiguous().stride(), dtype=value.dtype, device="meta"
            )
        self._keep(fake, value, assumed=assumed)
        return fake

    def _keep(self, fake: torch.Tensor, value: torch.Tensor, *, assumed: bool) -> None:
        """Store values of a fake tensor; the rest of its memory keeps its own."""
        before = self._versions.get(memory_of(fake))
        version = Version()
        version.assumed = assumed or (before is not None and before.assumed)
        with plain_pytorch():
            layout = Layout.of(fake)
            known = None if before is None else before.memory
            version.memory = _zeros(layout) if known is None else known.clone()
            layout.view(version.memory).copy_(value)
        self._set(fake, version)

    def _set(self, tensor: torch.Tensor, version: Version) -> None:
        self._versions[memory_of(tensor)] = version
        if len(self._versions) % _PURGE_INTERVAL == 0:
            for freed in [memory for memory in self._versions if memory.expired()]:
                del self._versions[freed]
                self._on_host.discard(freed)

    def _input(self, tensor: torch.Tensor) -> Input:
        memory = memory_of(tensor)
        version = self._versions.get(memory)
        if version is None:
            version = Version(reason="and nothing is computed without a GPU")
            self._versions[memory] = version
        return Input(version, Layout.of(tensor))

    def _captured(self, arguments: Any) -> Any:
        """Return arguments as they are now, to be used later."""

        def captured(value: Any) -> Any:
            if is_fake(value):
                return self._input(value)
            if not isinstance(value, torch.Tensor):
                return _on_cpu(value)
            return self._held(value)

        return tree_map(captured, arguments)

    def _held(self, tensor: torch.Tensor) -> OnCpu | Input:
        """Return a tensor on the CPU as it is now, to be used later."""
        size = tensor.nbytes
        if self._held_bytes + size > _MAX_BYTES:
            reason = "whose source on the CPU is not kept beyond 4 GiB"
            return Input(Version(reason=reason), Layout.of(tensor))
        if size > _COPIED_BYTES and not tensor.is_inference():
            held = OnCpu(tensor.detach(), tensor._version)
        else:
            with plain_pytorch():
                held = OnCpu(tensor.detach().clone())
        self._held_bytes += size
        weakref.finalize(held, self._release, size)
        return held

    def _release(self, size: int) -> None:
        self._held_bytes -= size

    def _compute(self, version: Version, what: str) -> None:
        """Compute a version and all that it depends on."""
        order = self._ordered(version, what)
        size, flops = sum(each.cost() for each in order), sum(each.flops for each in order)
        if size > _MAX_BYTES or flops > _MAX_FLOPS:
            much = f"{size / 1e9:.1f} GB and {flops / 1e9:.0f} GFLOP"
            raise NoValueError(what, f"which take {much} on the CPU: more than 4 GiB or 400 GFLOP")
        for operator in order:
            if self._seconds > _MAX_SECONDS:
                raise NoValueError(what, f"and {_MAX_SECONDS:.0f} s of computing are used up")
            began = time.monotonic()
            try:
                self._execute(operator)
            except (NotImplementedError, RuntimeError, TypeError) as error:
                if isinstance(error, NoValueError):
                    raise
                raise NoValueError(what, f"and {operator.function} fails on the CPU") from error
            finally:
                self._seconds += time.monotonic() - began

    def _ordered(self, version: Version, what: str) -> list[Operator]:
        """Return the operators that a version depends on, in the order of the program."""
        found: dict[int, Operator] = {}
        pending = [version]
        while pending:
            each = pending.pop()
            if each.memory is not None:
                continue
            if each.maker is None:
                if self._assumed is None:
                    raise NoValueError(what, each.reason)
            elif each.maker.number not in found:
                found[each.maker.number] = each.maker
                pending.extend(source.version for source in each.maker.inputs())
        return [found[number] for number in sorted(found)]

    def _execute(self, operator: Operator) -> None:
        """Run a recorded operator on the CPU."""
        changed: dict[int, torch.UntypedStorage] = {}
        for source, _ in operator.written:
            changed[id(source.version)] = self._view(source).untyped_storage().clone()

        def real(value: Any) -> Any:
            if isinstance(value, OnCpu):
                if value.writes is not None and value.tensor._version != value.writes:
                    raise NoValueError("a tensor", "and its source on the CPU has changed since")
                return value.tensor
            if not isinstance(value, Input):
                return value
            memory = changed.get(id(value.version))
            return self._view(value) if memory is None else value.layout.view(memory)

        args, kwargs = tree_map(real, (operator.args, operator.kwargs), is_leaf=is_input)
        with ExitStack() as stack:
            if torch.Tag.nondeterministic_seeded in operator.function.tags:
                stack.enter_context(torch.random.fork_rng(devices=[]))
                torch.random.default_generator.manual_seed(operator.number)
                self._deviations.drawn = True
            function = ATTENTION_ON_CPU.get(operator.function, operator.function)
            results = tree_leaves(function(*args, **kwargs))
        assumed = any(source.version.assumed for source in operator.inputs())
        for source, version in operator.written:
            version.assumed = assumed
            version.memory, version.maker = changed[id(source.version)], None
        for index, layout, version in operator.created:
            version.assumed = assumed
            if index >= len(results):
                version.maker, version.reason = None, f"which {operator.function} does not return"
                continue
            memory = _zeros(layout)
            layout.view(memory).copy_(results[index])
            version.memory, version.maker = memory, None

    def _view(self, source: Input) -> torch.Tensor:
        """Return a tensor over known memory, or over that of the assumed number."""
        if source.version.memory is None:
            assert self._assumed is not None
            self._deviations.assumed += 1
            source.version.assumed = True
            layout = source.layout
            elements = layout.memory_bytes // layout.dtype.itemsize
            number = self._assumed if layout.dtype.is_floating_point else int(self._assumed)
            filled = torch.full((elements,), number, dtype=layout.dtype, device="cpu")
            source.version.memory = filled.untyped_storage()
        return source.layout.view(source.version.memory)


class _Move(torch.autograd.Function):  # type: ignore[misc]  # mypy does not follow torch
    """Copies a fake tensor to the other device, and its gradient back."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, values: Values, device: Side) -> torch.Tensor:
        ctx.back = (values, "cuda" if device == "cpu" else "cpu")
        moved = tensor.clone()
        values.place(moved, device)
        return moved

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        values, device = ctx.back
        moved = gradient.clone()
        values.place(moved, device)
        return moved, None, None


def _zeros(layout: Layout) -> torch.UntypedStorage:
    """Return memory on the CPU for a tensor; what a program leaves uninitialized is 0."""
    return torch.zeros(layout.memory_bytes, dtype=torch.uint8, device="cpu").untyped_storage()


def _by_shape(arguments: Any) -> Any:
    """Return arguments that create a tensor of the shape and dtype of others, on the CPU."""

    def captured(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return OnCpu(value.detach())  # without values where it is a fake one
        return _on_cpu(value)

    captured_arguments = tree_map(captured, arguments)
    if isinstance(captured_arguments, dict):
        captured_arguments["device"] = torch.device("cpu")
    return captured_arguments


def _on_cpu(value: Any) -> Any:
    """Return the CPU for a device, no generator for a GPU's, anything else unchanged."""
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return None if isinstance(value, torch.Generator) else value


def flops_of(function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> float:
    """Return an operator's floating-point operations, 0 if PyTorch does not count them."""
    count: Callable[..., Any] | None = flop_registry.get(function._overloadpacket)
    return float(count(*args, **kwargs, out_val=result)) if count is not None else 0.0
