"""Runs the integer and pointer part of a kernel's ttir for many programs and iterations at once."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar, cast

import numpy as np

from irlens.analyze import work
from irlens.analyze.address_slice import written_values
from irlens.analyze.mlir_loops import place_of
from irlens.analyze.traffic import accesses, arithmetic, loops, reals
from irlens.analyze.traffic.accesses import Reference, data_operations, public_function
from irlens.analyze.traffic.branches import Branches
from irlens.analyze.traffic.frames import (
    Frame,
    bind,
    define,
    define_all,
    placed,
    scalar,
    truth_values,
)
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.loops import NotAffineError
from irlens.analyze.traffic.reductions import reduced
from irlens.analyze.traffic.values import (
    ELEMENTS_OF_STEP,
    Array,
    Choice,
    Integer,
    Mask,
    Pointer,
    TooLargeError,
    Unknown,
    UnknownTrafficError,
    Value,
    constant,
    elements,
    integer,
    is_zero,
    known,
    merged,
    taken,
)
from irlens.isa.mlir import Block, Module, Operation, global_memory
from irlens.isa.mlir.types import Scalar
from irlens.model.errors import OutOfWorkError

#: What evaluating an operation raises that lacks operands, attributes or regions, or has those of
#: another one: Triton's own parser would refuse it.
_MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)
#: Iterations of a loop that are evaluated one after the other.
_MOST_STEPS = 1 << 13
#: Programs, each in each iteration, that a block may be evaluated for.
_MOST_INSTANCES = 1 << 27
#: Steps of work of an operation, and powers of two of instances of one, and of an access, that
#: take one more: a launch with 2^26 accesses takes some seconds.
_STEPS_EACH, _INSTANCES_OF_STEP, _ACCESSES_OF_STEP = 4, 12, 8
_AXES = {"x": 0, "y": 1, "z": 2}

#: What is done with an access: its operation, how it accesses memory, the numbers of the programs.
Visitor = Callable[[Operation, Reference, Array], None]


class Evaluation:
    """Some neighbouring programs of a launch, run together.

    Args:
        numbers: Numbers of the programs, x fastest, ascending.
        how: What is evaluated at once, and which loops one iteration after the other.
        data: Operations, by index, that are counted and not evaluated.

    Attributes:
        executions: How often each operation is executed, by index.
        reason: Why an access was not evaluated: the first such reason.
        assumed: What was assumed: the first thing that depends on data; empty if nothing.
        scattered: Whether addresses that depend on data were assumed.
        may_return: Whether data decide if programs return early.
        waits: The first loop that waits for other programs, whose later rounds are not counted.
    """

    def __init__(
        self,
        module: Module,
        launch: Launch,
        numbers: range | Array,
        visit: Visitor,
        how: "Attempts",
        data: frozenset[int] = frozenset(),
    ) -> None:
        self.executions: Counter[int] = Counter()
        self.reason = ""
        self.assumed = ""
        self.waits = ""
        self.scattered = self.may_return = False
        self._module = module
        self._launch = launch
        self._numbers: Array = (
            np.arange(numbers.start, numbers.stop, dtype=np.int64)
            if isinstance(numbers, range)
            else numbers
        )
        self._at_once, self._stepwise = how.at_once, how.stepwise
        self._visit = visit
        self._data = data
        self._recording = True
        #: Of the arguments with given contents those that are loaded, and what first writes one.
        self._loaded_contents: set[str] = set()
        self._writes: dict[str, Operation] = {}
        self._is_visiting = False
        self._sizes = launch.sizes(public_function(module))

    def run(self, function: Operation) -> None:
        """Run a kernel's function.

        Raises:
            TooLargeError: Fewer programs at once may do.
            NotAffineError: A loop has to be evaluated stepwise.
            UnknownTrafficError: The traffic cannot be counted.
        """
        frame = Frame(self._numbers.size, programs=self._numbers)
        for argument in function.parameters:
            frame.define(argument.name, self._launch.value(argument))
        self._function(function, frame)

    def _function(self, function: Operation, frame: Frame) -> list[Value]:
        """Run a function whose arguments the frame has, and return what it returns."""
        blocks = function.regions[0].blocks
        if len(blocks) == 1:
            return self.block(blocks[0], frame)
        return Branches(self.block, self._module, blocks, frame, self._stays).run()

    def _stays(self, condition: Value, size: int, likely: bool) -> Array:
        """Return the condition of a branch that an early return makes, as ``_decided`` does."""
        self.may_return |= isinstance(condition, Unknown)
        return self._decided(condition, size, likely)

    def block(self, block: Block, frame: Frame) -> list[Value]:
        """Run a block and return the operands of its last operation."""
        return self.operations([self._module.operations[n] for n in block.operations], frame)

    def operations(self, operations: Sequence[Operation], frame: Frame) -> list[Value]:
        """Run operations of one block and return the operands of the last one."""
        operands: list[Value] = []
        for operation in operations:
            if self._recording:
                self.executions[operation.index] += frame.size
            if operation.index in self._data:
                continue
            operands = [frame.read(name) for name in operation.operands]
            try:
                work.spend(_STEPS_EACH + (frame.size >> _INSTANCES_OF_STEP))
                self._run(operation, operands, frame)
                computed = sum(elements(frame.read(name)) for name, _ in operation.results)
                work.spend(computed >> ELEMENTS_OF_STEP)
            except (UnknownTrafficError, OutOfWorkError) as error:
                raise placed(operation, str(error)) from None
            except _MALFORMED as error:
                if self._is_visiting:
                    raise
                raise placed(operation, f"{operation.name} is malformed") from error
        return operands

    def silently(self, operations: Sequence[Operation], frame: Frame) -> None:
        """Run operations for their values alone: accesses and executions are not counted."""
        recording, self._recording = self._recording, False
        try:
            self.operations(operations, frame)
        finally:
            self._recording = recording

    def _run(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        name, does = operation.name, operation.does
        if name in accesses.ALL:
            self._access(operation, operands, frame)
        elif does == "for":
            self._for(operation, operands, frame)
        elif does == "if":
            self._if(operation, operands[0], frame)
        elif does == "while":
            self._while(operation, operands, frame)
        elif does == "partition":
            self._partitions(operation, operands, frame)
        elif does == "call":
            self._call(operation, operands, frame)
        elif does in ("program", "programs"):
            define(operation, [self._program(operation, frame)], frame)
        elif name in global_memory.TENSORMAPS:
            self._tensormap(operation, operands, frame)
        elif does in accesses.MAKERS:
            define(operation, [accesses.MAKERS[does](operation, operands)], frame)
        elif name in global_memory.TERMINATORS or name in global_memory.SILENT:
            return
        elif does != "reduce" or not self._reduce(operation, operands, frame):
            self._compute(operation, operands, frame)

    def _compute(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        pure = global_memory.is_pure(operation.name)
        if not pure and operation.name not in global_memory.DATA_REGIONS:
            raise UnknownTrafficError(f"{operation.name} is not understood")
        result = arithmetic.compute(operation, operands) if pure else None
        if result is None:
            reasons = [each for each in operands if isinstance(each, Unknown)]
            reasons.sort(key=lambda each: isinstance(each, reals.Literal))  # its reason is no cause
            own = Unknown(f"{place_of(operation)}: {operation.name} is not evaluated")
            result = reasons[0] if reasons else own
            if operation.result_type.shape != operation.operand_type.shape:
                result = Unknown(result.reason)  # what stands for a tensor stands for no sum of it
        define_all(operation, result, frame)

    def _reduce(self, operation: Operation, operands: list[Value], frame: Frame) -> bool:
        """Define the results of a reduction; return whether its operands are known."""
        block = operation.regions[0].blocks[0]
        *computed, last = [self._module.operations[index] for index in block.operations]

        def combine(values: list[Value]) -> list[Value]:
            body = frame.inner()
            bind(block, values, body)
            self.silently(computed, body)
            return [body.read(name) for name in last.operands]

        results = reduced(operation, operands, combine)
        if results is not None:
            define(operation, results, frame)
        return results is not None

    def _program(self, operation: Operation, frame: Frame) -> Integer:
        axis, grid = _AXES[operation.words[0]], self._launch.grid
        if operation.does == "programs":
            return constant(grid[axis])
        before = int(np.prod(grid[:axis], dtype=np.int64))
        numbers = frame.programs if before == 1 else frame.programs // before
        return integer(numbers if max(grid[axis + 1 :], default=1) == 1 else numbers % grid[axis])

    def _access(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        at = next((n for n, each in enumerate(operands) if isinstance(each, Choice)), None)
        if at is None:
            define_all(operation, self._accessed(operation, operands, frame.programs), frame)
            return
        parts = []
        for rows, pointer in cast(Choice, operands[at]).groups(frame.size):
            some = [taken(each, rows) for each in operands]
            some[at] = pointer
            parts.append((rows, self._accessed(operation, some, frame.programs[rows])))
        define_all(operation, merged(frame.size, parts), frame)

    def _accessed(self, operation: Operation, operands: list[Value], programs: Array) -> Value:
        """Visit an access by some programs, and return what it yields."""
        assuming = self._launch.numbers is not None
        reference = accesses.reference(operation, operands)
        if isinstance(reference, Unknown) and assuming:
            self.assumed = self.assumed or str(placed(operation, reference.reason))
            reference = self._likely(operation, operands)
        if isinstance(reference, Unknown):
            if self._recording and not (assuming and accesses.is_of_one_element(operation)):
                reason = str(placed(operation, reference.reason))
                self.reason = self.reason or reason
            read: Value = reference
        else:
            if self._recording:
                work.spend(programs.size >> _ACCESSES_OF_STEP)
                self._is_visiting = True
                self._visit(operation, reference, programs)
                self._is_visiting = False
            read = self._loaded(operation, operands, reference)
        if not isinstance(read, Unknown):
            return read
        return Unknown(str(placed(operation, read.reason)), read.like)

    def _likely(
        self, operation: Operation, operands: Sequence[Value]
    ) -> accesses.Reference | Unknown:
        """Return how an operation may access memory, as an estimate assumes."""
        at = accesses.pointer_of(operation)
        place = None if at is None else known(operands[at])
        if at is None or place is operands[at] or not isinstance(place, Pointer):
            return accesses.reference(operation, operands, unknown_mask=Mask(()))
        self.scattered = True
        size = operation.operand_type.element.pointee
        pointer = accesses.inside(
            place, self._sizes.get(place.argument), (size.bytes if size else None) or 1
        )
        standing = [*operands[:at], pointer, *operands[at + 1 :]]
        return accesses.reference(operation, standing, unknown_mask=Mask(()))

    def _loaded(
        self, operation: Operation, operands: Sequence[Value], reference: accesses.Reference
    ) -> Value:
        """Return what an access yields, if the contents of its tensor are given."""
        argument = reference.pointer.argument
        contents = self._launch.contents.get(argument)
        if contents is not None:
            if operation.name in global_memory.LOADS:
                self._loaded_contents.add(argument)
            else:
                self._writes.setdefault(argument, operation)
            if argument in self._loaded_contents and argument in self._writes:
                reason = f"{argument}, whose contents are given, is written"
                raise placed(self._writes[argument], reason)
        if operation.name not in global_memory.LOADS:
            contents = None
        if operation.name not in global_memory.VALUES:
            return Unknown("the traffic depends on data that is loaded here")
        value = accesses.loaded(reference, contents, accesses.other(operation, operands))
        kind = operation.operand_type.element.pointee
        if not isinstance(value, Unknown) or contents is not None:
            return value
        if not isinstance(kind, Scalar) or not kind.is_integer or kind.bits == 1:
            return value
        reason = f"the traffic depends on data in {argument}{self._given(argument)}"
        assumed = self._launch.numbers
        numbers = accesses.stand_in(reference, assumed) if assumed else None
        return Unknown(reason, numbers)

    def _given(self, argument: str) -> str:
        """Return how the user can say what a tensor of integers holds, or why nobody can."""
        if f"%{argument}" in self._written:
            return ", which the kernel itself writes"
        tensor = str(self._launch.arguments.get(argument))
        few = f"--arg '{argument}={tensor}:values[N]' or " if tensor.endswith("]") else ""
        return f" ({few}--arg {argument}=@FILE.npy gives them)"

    @cached_property
    def _written(self) -> frozenset[str]:
        return written_values(self._module)

    def _for(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        bounds = [scalar(each) for each in operands[:3]]
        loop = loops.counted(operation, self._module, bounds, operands[3:], frame.size)
        if operation.index in self._stepwise:
            results = self._iterate(loop, frame)
        else:
            results = self._iterate_at_once(loop, frame)
        define(operation, results, frame)

    def _iterate_at_once(self, loop: loops.Counted, frame: Frame) -> list[Value]:
        """Run a loop whose carried values change by the same amount in every iteration."""
        running = np.flatnonzero(loop.trips)
        if not running.size:
            return loop.initial
        outer = frame.inner(running)
        steps = loops.Steps(loop, running)
        if steps.wanted:
            first = outer.inner()
            steps.enter(first)
            self.silently(loops.needed(self._module, loop.operation, steps.wanted), first)
            steps.learn([first.read(name) for name in loop.yields])
        for owner, iteration in self.instances(loop, running):
            body = outer.inner(owner)
            steps.enter(body, owner, iteration)
            self.block(loop.block, body)
            steps.check([body.read(name) for name in loop.yields], body, owner)
        return steps.results(frame.size)

    def instances(self, loop: loops.Counted, running: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the instances of a loop's body to evaluate, see ``Counted.instances``.

        Raises:
            UnknownTrafficError: They are too many.
        """
        if int(loop.trips.sum()) > _MOST_INSTANCES:
            raise UnknownTrafficError(f"more than {_MOST_INSTANCES:,} iterations of all programs")
        return loop.instances(running, self._at_once)

    def _iterate(self, loop: loops.Counted, frame: Frame) -> list[Value]:
        """Run a loop iteration by iteration."""
        carried = loop.initial
        for iteration in range(_steps(int(loop.trips.max(initial=0)))):
            rows = np.flatnonzero(loop.trips > iteration)
            rest = np.flatnonzero(loop.trips <= iteration)
            body = frame.inner(rows)
            arguments = [loop.induction(rows, iteration), *(taken(each, rows) for each in carried)]
            for argument, value in zip(loop.block.arguments, arguments, strict=True):
                body.define(argument.name, value)
            self.block(loop.block, body)
            carried = [
                merged(frame.size, [(rows, body.read(name)), (rest, taken(old, rest))])
                for name, old in zip(loop.yields, carried, strict=True)
            ]
        return carried

    def _while(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        before, after = (region.blocks[0] for region in operation.regions)
        rows = np.arange(frame.size)
        carried, left = operands, list[tuple[Array, list[Value]]]()
        for _ in range(_MOST_STEPS):
            test = frame.inner(rows)
            bind(before, carried, test)
            condition, *passed = self.block(before, test)
            if isinstance(condition, Unknown):
                if loops.waits(self._module, operation):
                    self.waits = self.waits or place_of(operation)
                    left.append((rows, passed))
                    break
                if self._accesses_memory(operation):
                    raise UnknownTrafficError(
                        f"{place_of(operation)}: how often this while loop runs is not known before"
                        f" the launch ({condition.reason})"
                    )
                define_all(operation, condition, frame)
                for each in self._module.body(operation):  # how often they run is unknown
                    del self.executions[each.index]
                return
            held = truth_values(condition, rows.size)
            gone, stays = np.flatnonzero(~held), np.flatnonzero(held)
            left.append((rows[gone], [taken(each, gone) for each in passed]))
            if not stays.size:
                break
            rows = rows[stays]
            body = frame.inner(rows)
            bind(after, [taken(each, stays) for each in passed], body)
            carried = self.block(after, body)
        else:
            raise UnknownTrafficError(f"a loop of more than {_MOST_STEPS:,} iterations")
        count = sum(number for _, number in operation.results)
        results = [
            merged(frame.size, [(rows, values[n]) for rows, values in left]) for n in range(count)
        ]
        define(operation, results, frame)

    def _if(self, operation: Operation, condition: Value, frame: Frame) -> None:
        if isinstance(condition, Unknown) and not self._accesses_memory(operation):
            define_all(operation, condition, frame)
            return
        sizes = [sum(map(self._length, region.blocks)) for region in operation.regions]
        held = self._decided(condition, frame.size, sizes[0] >= sum(sizes[1:]))
        branches = [region.blocks[0] for region in operation.regions if region.blocks]
        count = sum(number for _, number in operation.results)
        parts: list[list[tuple[Array, Value]]] = [[] for _ in range(count)]
        for block, chosen in zip(branches, (held, ~held), strict=False):
            rows = np.flatnonzero(chosen)
            if not rows.size:
                continue
            values = self.block(block, frame.inner(rows))
            for part, value in zip(parts, values, strict=False):
                part.append((rows, value))
        define(operation, [merged(frame.size, each) for each in parts], frame)

    def _decided(self, condition: Value, size: int, likely: bool) -> Array:
        """Return a branch's condition for each instance, assumed where it depends on data.

        Raises:
            UnknownTrafficError: It is not known, and nothing is assumed.
        """
        if self._launch.numbers and isinstance(condition, Unknown):
            self.assumed = self.assumed or condition.reason
            return np.full(size, likely)
        return truth_values(condition, size)

    def _length(self, block: Block) -> int:
        operations = (self._module.operations[index] for index in block.operations)
        return sum(each.end - each.index for each in operations)

    def _accesses_memory(self, operation: Operation) -> bool:
        return any(
            each.name in accesses.ALL or each.does in ("call", "partition")
            for each in self._module.body(operation)
        )

    def _tensormap(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        """Follow a descriptor that the kernel writes to scratch memory of its own."""
        kind = global_memory.TENSORMAPS[operation.name]
        if kind == "memory":
            name = f"scratch of line {operation.span.line}"
            define(operation, [Pointer(name, constant(0))], frame)
            return
        at = operands[0]
        known = isinstance(at, Pointer) and is_zero(at.offset)
        place = f"descriptor in {at.argument}" if known and isinstance(at, Pointer) else ""
        if kind == "write" and place:
            frame.define(place, accesses.tensormap(operation, operands))
        elif kind == "read":
            read = frame.read(place) if place else Unknown("where its descriptor lies is unknown")
            define(operation, [read], frame)

    def _partitions(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        """Run what the kernel's own warps do, and what each partition does with its arguments."""
        default, *partitions = (region.blocks[0] for region in operation.regions)
        results = self.block(default, frame.inner())
        for block in partitions:
            body = Frame(frame.size, programs=frame.programs)
            bind(block, operands, body)
            self.block(block, body)
        define(operation, results, frame)

    def _call(self, operation: Operation, operands: list[Value], frame: Frame) -> None:
        symbol = next((word for word in operation.words if word.startswith("@")), "")
        called = [f for f in self._module.doing("function") if symbol and symbol in f.words]
        if len(called) != 1 or not called[0].regions:
            raise UnknownTrafficError(f"the called function {symbol} is not found")
        body = Frame(frame.size, programs=frame.programs)
        bind(called[0].regions[0].blocks[0], operands, body)
        define(operation, self._function(called[0], body), frame)


def _steps(count: int) -> int:
    if count > _MOST_STEPS:
        raise UnknownTrafficError(f"a loop of more than {_MOST_STEPS:,} iterations")
    return count


#: Programs that are evaluated at once: arrays of 256 kB, whose memory is used again and again.
AT_ONCE = 1 << 15
_Visits = TypeVar("_Visits", bound=Visitor)
_Found = TypeVar("_Found")


class Attempts:
    """Evaluations in parts, repeated where a part turns out to be too large or a loop not affine.

    Attributes:
        at_once: Programs, and instances of a loop's body, to evaluate at once.
        stepwise: Loops to evaluate iteration by iteration.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self.at_once = at_once
        self.stepwise: frozenset[int] = frozenset()

    def until_done(self, evaluate: Callable[[], _Found]) -> _Found:
        """Return what an evaluation returns, which reads the attributes each time it is called.

        Raises:
            UnknownTrafficError: A single instance is too large.
        """
        while True:
            try:
                return evaluate()
            except NotAffineError as error:
                self.stepwise |= {error.operation}
            except TooLargeError:
                if self.at_once == 1:
                    raise UnknownTrafficError("a tensor of addresses is too large") from None
                self.at_once = max(1, self.at_once // 4)


def run(
    module: Module, launch: Launch, programs: range, begin: Callable[[], _Visits]
) -> Iterator[tuple[_Visits, Evaluation]]:
    """Evaluate programs, and yield what was made of each part of them.

    Args:
        programs: Numbers of the programs, x fastest.
        begin: Returns a visitor of the accesses of one part; it may be called again for the same
            part, whose first visitor is then dropped.

    Raises:
        UnknownTrafficError: A branch or a loop's bounds are not known, or too much is to be done.
    """
    function, data = public_function(module), data_operations(module)
    attempts = Attempts()
    at, left = programs.start, work.STEPS
    launch.check_grid()

    def evaluated() -> tuple[_Visits, Evaluation, int]:
        nonlocal left
        visitor = begin()
        part = range(at, min(at + attempts.at_once, programs.stop))
        evaluation = Evaluation(module, launch, part, visitor, attempts, data)
        try:
            with work.budget(left=left) as budget:
                evaluation.run(function)
        finally:
            left = budget.left
        return visitor, evaluation, part.stop

    while at < programs.stop:
        visitor, evaluation, at = attempts.until_done(evaluated)
        yield visitor, evaluation
