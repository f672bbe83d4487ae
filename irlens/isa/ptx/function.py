"""PTX functions as the engines see them: branches and exits, register use, and the module.

Source: PTX ISA, "Control Flow Instructions".
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from math import prod
from typing import ClassVar

import msgspec

from irlens.isa.calls import Call, Expansion, expand
from irlens.isa.dialect import BlockLabel, ControlFlow, RegisterUse, Terminator
from irlens.isa.ptx import registers
from irlens.isa.ptx.classes import classify
from irlens.isa.ptx.operands import Register, Symbol
from irlens.isa.ptx.records import (
    Declaration,
    FunctionBody,
    Instruction,
    Label,
    Scope,
    Signature,
    Statement,
    Unknown,
    Variable,
)
from irlens.model.errors import ArtifactError, OutOfWorkError
from irlens.model.several import all_known

_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
#: ptxas rounds a stack frame up to 8 bytes, to 16 where a 16-byte access needs it.
_FRAME_UNIT = 16
BRANCHES = frozenset({"bra", "brx"})
#: Opcodes after which control does not continue.
EXITS = frozenset({"ret", "exit", "trap"})
#: Targets of branches through lists of labels, which may share one.
_MOST_TARGETS = 1 << 17
_ENDS = BRANCHES | EXITS
#: libdevice's tables of the digits of 2/pi, to which sin, cos and tan reduce large arguments.
DIGITS_OF_PI = frozenset({"__cudart_i2opi_d", "__cudart_i2opi_f"})
#: Functions of the driver (CUDA C++ Programming Guide, "Formatted Output", "Assertion").
_OF_THE_DRIVER = frozenset({"__assertfail", "free", "malloc", "vprintf"})


class LocalArray(msgspec.Struct, frozen=True):
    """A variable in local memory, of which LLVM makes one for all arrays of a function.

    Attributes:
        bytes: Per thread.
        align: In bytes.
    """

    function: str
    bytes: int
    align: int


class Function(FunctionBody, frozen=True, kw_only=True):
    """A function with a body (``irlens.isa.dialect.Function``).

    Attributes:
        expansion: Where the functions that it calls are among its instructions; ``None`` for a
            function as it is written.
    """

    stage: ClassVar[str] = "ptx"
    expansion: "Expansion[Function] | None" = None

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        Raises:
            ArtifactError: A branch to a label, or through a list of labels, that does not exist.
        """
        return self.written_flow() if self.expansion is None else self.expansion.control_flow()

    def calls(self) -> Mapping[int, Call]:
        """Return the calls by the index of their instruction."""
        return {
            index: _call(instruction)
            for index, instruction in enumerate(self.instructions)
            if instruction.opcode == "call"
        }

    def returns(self) -> frozenset[int]:
        """Return the indices of the instructions that return to the caller."""
        return frozenset(n for n, each in enumerate(self.instructions) if each.opcode == "ret")

    def written_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin, as if calls came back and returns ended.

        ``bra`` and ``brx.idx`` branch, ``ret``, ``exit`` and ``trap`` end; with a predicate any of
        them may also fall through.

        Raises:
            ArtifactError: A branch to a label, or through a list of labels, that does not exist.
            OutOfWorkError: More targets than any compiler writes.
        """
        terminators: dict[int, Terminator] = {}
        labels: dict[int, BlockLabel] = {}
        left = _MOST_TARGETS
        for index, instruction in enumerate(self.instructions):
            if instruction.opcode not in _ENDS:
                continue
            targets: tuple[Label, ...] = ()
            if instruction.opcode in BRANCHES:
                targets = _targets(self, instruction, left)
                left -= len(targets) if instruction.opcode == "brx" else 0
            for label in targets:
                labels.setdefault(label.position, BlockLabel(label.name, label.line))
            terminators[index] = Terminator(
                tuple(label.position for label in targets), instruction.predicate is not None
            )
        return ControlFlow(terminators, labels)

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""
        return registers.register_use(self)

    def classes(self) -> Iterator[tuple[str, str | None]]:
        """Yield the opcode and the class of each instruction; ``None`` where it is not known."""
        written = {each.start: each for each in self.instructions}  # once, however often called
        return ((each.opcode, classify(each)) for each in written.values())

    def local_arrays(self) -> tuple[LocalArray, ...] | None:
        """Return the arrays that the kernel and what it calls keep in local memory.

        ``None`` where the stack may hold other things too: the kernel calls functions that cannot
        be followed, allocates at run time, or declares arrays of unknown size.
        """
        functions = (self,) if self.expansion is None else self.expansion.functions
        if self.expansion is not None and self.expansion.unknown:
            return None
        arrays = all_known(function._written_arrays() for function in functions)
        return None if arrays is None else tuple(chain.from_iterable(arrays))

    def _written_arrays(self) -> list[LocalArray] | None:
        """Return the arrays that a function itself declares; ``None`` where sizes are unknown."""
        arrays: list[LocalArray] = []
        if any(each.opcode == "alloca" for each in self.instructions):
            return None
        for statement in self.statements:
            for variable in statement.declarations if isinstance(statement, Variable) else ():
                if variable.space != "local":
                    continue
                size = _BYTES.get(variable.type[1:])
                extents = all_known(variable.dimensions)
                if size is None or extents is None:
                    return None
                align = variable.align or size
                arrays.append(LocalArray(self.name, size * prod(extents), align))
        return arrays

    def declared_local_bytes(self) -> int | None:
        """Return the bytes per thread of its arrays in local memory, at most.

        Anything beyond was spilled. ``None`` where ``local_arrays`` is, and where the driver's
        functions need room as well.
        """
        arrays = self.local_arrays()
        if arrays is None or any(call.callee is None for call in self.calls().values()):
            return None
        # Alignment adds at most this much in front of each.
        total = sum(each.bytes + each.align - 1 for each in arrays)
        return -(-total // _FRAME_UNIT) * _FRAME_UNIT


class PtxModule(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed PTX text.

    Attributes:
        version: Of the PTX ISA ("8.7"); ``None`` in a fragment.
        target: First name after ``.target`` ("sm_90a"); ``None`` in a fragment.
        files: Base names by their number in ``.file``.
        statements: All of the text in order, functions' bodies included.
        functions: Functions with a body, in order; then the fragment, if there is one.
        trailing: White space and comments after the last statement.
    """

    version: str | None
    target: str | None
    files: dict[int, str]
    statements: tuple[Statement, ...]
    functions: tuple[Function, ...]
    declarations: tuple[Signature, ...]
    variables: tuple[Declaration, ...]
    trailing: str

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The entry functions and the fragment, with what they call: what is read as a kernel."""
        bodies = {each.name: each for each in self.functions if each.kind == "func"}
        return tuple(_expanded(each, bodies) for each in self.functions if each.kind != "func")

    @property
    def unknown(self) -> Counter[str]:
        """Occurrences of each statement that no rule understands."""
        return Counter(s.text for s in self.statements if isinstance(s, Unknown))

    def text(self) -> str:
        """Return the input, rebuilt from the statements."""
        pieces = [piece for s in self.statements for piece in (s.trivia, s.text)]
        return "".join([*pieces, self.trailing])


def _call(call: Instruction) -> Call:
    """Read "call (result), name, (arguments);", or one through a register or a table."""
    named = next((each for each in call.operands if isinstance(each, Symbol | Register)), None)
    if not isinstance(named, Symbol):
        return Call(None, "its target is in a register")
    return Call(None) if named.name in _OF_THE_DRIVER else Call(named.name)


def _expanded(kernel: Function, bodies: Mapping[str, Function]) -> Function:
    """Return a kernel with the functions that it calls; as it is written without any."""
    expansion = expand(kernel, bodies)
    if expansion is None:
        return kernel
    functions = [copy.function for copy in expansion.copies]
    unique = expansion.functions
    #: The scopes of each copy follow those of the copies before it.
    base = [0]
    for each in functions:
        base.append(base[-1] + len(each.scopes))
    return msgspec.structs.replace(
        kernel,
        statements=tuple(s for each in unique for s in each.statements),
        instructions=tuple(
            msgspec.structs.replace(
                written := functions[copy].instructions[own],
                scope=written.scope + base[copy],
                locations=expansion.chain(index),
            )
            for index, (copy, own) in enumerate(expansion.origins)
        ),
        labels=tuple(label for each in unique for label in each.labels),
        registers=tuple(group for each in unique for group in each.registers),
        scopes=tuple(
            _moved(scope, first)
            for each, first in zip(functions, base, strict=False)
            for scope in each.scopes
        ),
        tables=frozenset[str]().union(*(each.tables for each in unique)),
        expansion=expansion,
    )


def _moved(scope: Scope, first: int) -> Scope:
    """Return a scope of a function whose scopes are numbered from ``first`` on."""
    replace = msgspec.structs.replace
    return Scope(
        parent=scope.parent + first if scope.parent >= 0 else -1,
        labels=scope.labels,
        registers={
            name: replace(group, scope=group.scope + first)
            for name, group in scope.registers.items()
        },
    )


def _targets(function: FunctionBody, branch: Instruction, most: int) -> tuple[Label, ...]:
    operand = branch.operands[-1] if branch.operands else None
    if not isinstance(operand, Symbol):
        raise _dangling(branch, "a target that is not a label")
    names: tuple[str, ...] | None = (operand.name,)
    if branch.opcode == "brx":
        names = function.targets(operand.name, branch.scope)
        if names is None:
            raise _dangling(branch, f"the list '{operand.name}', which does not exist")
        if len(names) > most:  # branches may share a list
            raise OutOfWorkError(
                f"ptx:{branch.line}: the branches through lists of labels have more than"
                f" {_MOST_TARGETS:,} targets"
            )
    labels = []
    for name in names or ():
        label = function.label(name, branch.scope)
        if label is None:
            raise _dangling(branch, f"'{name}', which does not exist")
        labels.append(label)
    return tuple(labels)


def _dangling(branch: Instruction, target: str) -> ArtifactError:
    return ArtifactError(
        f"ptx:{branch.line}: branch to {target}",
        hint="give the whole kernel: the text looks like a part of one",
    )
