"""The records of a ledger: what each operation of a program moves, and what fusing saves.

Bytes are distinct bytes: an operand that an operation uses twice, or broadcasts, counts once.
``None`` is "unknown", and ``unknown`` says why.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.operations import OperationKind
from irlens.model.several import total
from irlens.model.source import SourceLocation

LEDGER_SCHEMA = 1

#: What a ledger lists: a kernel's PyTorch reference, a whole program, a function as PyTorch runs it
#: without a compiler, the same as ``torch.compile`` runs it.
LedgerKind: TypeAlias = Literal["reference", "program", "eager", "compiled"]

#: What decided that an operation joins a group, or begins one.
FusionRule: TypeAlias = Literal[
    "first", "view", "same space", "through a view", "broadcast", "shared input", "reduces",
    "row result", "row on chip", "epilogue", "constant", "row too long", "other space",
    "other axes", "part", "aliased", "prologue", "tiles", "random", "data-dependent", "join",
    "kernel", "transfer", "library", "closed",
]  # fmt: skip


class LedgerOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation of a program.

    Attributes:
        number: Its position, from 1 on.
        name: PyTorch's name of the operator ("aten.exp"), or the Triton kernel's.
        kind: What it does.
        inputs: What it reads: "x fp32[4096, 1024]", or "#3 fp32[4096]" for what operation 3 wrote.
        outputs: What it writes: "fp32[4096, 1024]".
        read_bytes: Distinct bytes that it reads.
        written_bytes: Distinct bytes that it writes.
        source: The line of the program that called it; ``None`` if unknown.
        graph: The compiled graph that it is part of; empty outside of any.
        group: Number of its group; ``None`` for a view, which moves nothing.
        rule: What decided that it joins the group, or begins it.
        reason: The rule in words.
        requested_bytes: Bytes that all programs of a Triton kernel load, each as often as it is
            loaded; caches deliver what is beyond ``read_bytes``. ``None`` for other operations.
        at_most: Why its bytes are an upper bound; empty where they are exact.
        unknown: Why its bytes are unknown; empty where they are known.
    """

    number: int
    name: str
    kind: OperationKind
    inputs: list[str]
    outputs: list[str]
    read_bytes: int | None
    written_bytes: int | None
    source: SourceLocation | None
    graph: str
    group: int | None
    rule: FusionRule
    reason: str
    requested_bytes: int | None = None
    at_most: str = ""
    unknown: str = ""


class FusionGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Operations that one kernel could do.

    Attributes:
        number: Its position in the order of execution, from 1 on.
        operations: Numbers of its operations, in their order.
        read_bytes: Distinct bytes that it reads of what lies outside of it.
        written_bytes: Distinct bytes that it writes of what is used outside of it.
        separate_read_bytes: What its operations read, one by one.
        separate_written_bytes: What they write.
    """

    number: int
    operations: list[int]
    read_bytes: int | None
    written_bytes: int | None
    separate_read_bytes: int | None
    separate_written_bytes: int | None


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that some kernels read and write.

    Attributes:
        kernels: Their number.
        read_bytes: Bytes read.
        written_bytes: Bytes written.
    """

    kernels: int
    read_bytes: int | None
    written_bytes: int | None

    @property
    def total(self) -> int | None:
        """Bytes read and written."""
        return total((self.read_bytes, self.written_bytes))


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What the operations of a program move.

    Attributes:
        name: Of the function or the program.
        kind: What it lists.
        separate: The operations one by one, as they ran.
        grouped: The groups, a kernel each.
        one_pass: The inputs read once and the outputs written once, however many kernels.
        operations: In the order in which they ran.
        groups: In an order in which they can run.
        row_limit: Elements of a row that one CTA is assumed to keep on chip.
        at_most: Why the sums are upper bounds, each reason once.
        unknown: Why sums are unknown, each reason once.
    """

    name: str
    kind: LedgerKind
    separate: Moved
    grouped: Moved
    one_pass: Moved
    operations: list[LedgerOperation]
    groups: list[FusionGroup]
    row_limit: int
    at_most: list[str] = []
    unknown: list[str] = []


class Ledgers(msgspec.Struct, frozen=True, kw_only=True):
    """The ledgers of a kernel file or a program.

    Attributes:
        schema: Version of this interface.
        subject: The kernel or the program.
        ledgers: One for each reference, or the program's and those of its compiled functions.
        notes: What limits all of them.
    """

    schema: int
    subject: str
    ledgers: list[Ledger]
    notes: list[str] = []
