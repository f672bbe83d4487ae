"""Recordings of programs: the index of a recording, and its kernels with their time."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from irlens.model.config import Target
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Severity
from irlens.model.traffic import Roofline

#: The index of a recording, beside its captures.
PROGRAM_NAME = "irlens-program.json"
PROGRAM_SCHEMA = 1


class RecordedLaunches(msgspec.Struct, frozen=True, kw_only=True):
    """Launches of a variant with the same grid and tensors.

    Attributes:
        number: How many.
        args: The arguments of the first, as manifests have them.
        grid: CTAs in x, y and z; ``None`` if unknown.
    """

    number: int
    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None


class RecordedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled variant of a recording.

    Attributes:
        entry: Its directory in the recording.
        kernel: The kernel's name.
        source: The line that it comes from: of its launch, or for one that ``torch.compile``
            generated, of what it computes; empty if unknown.
        operations: The operators of PyTorch that a generated kernel fuses.
        launches: Its launches, the most frequent first: none of a candidate that an autotuner only
            tried; ``None`` if unknown.
        tried: Its launches that an autotuner only measured.
    """

    entry: str
    kernel: str
    source: str = ""
    operations: tuple[str, ...] = ()
    launches: tuple[RecordedLaunches, ...] | None = None
    tried: tuple[RecordedLaunches, ...] = ()


class LibraryCall(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of an operator that a library computes (cuBLAS, cuDNN, attention), of one size.

    Attributes:
        name: The operator: "aten.mm".
        operands: Its tensors: "bf16[512,256] × bf16[256,768]".
        source: The line of the program that called it; empty in a backward pass.
        calls: How often.
        bytes: Bytes of its operands and results, of one call.
        flops: Its floating-point operations, of one call; ``None`` if PyTorch does not count them.
        dtype: The type of its first operand.
    """

    name: str
    operands: str
    source: str
    calls: int
    bytes: int
    flops: int | None
    dtype: str


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the program, for one GPU.

    Attributes:
        target: The GPU.
        kernels: The compiled variants, in the order of their first launch.
        library: Calls of libraries, those with the most operations first.
        others: Calls of PyTorch's own kernels, and of what else it computes.
        is_fake: Whether there was no GPU, so that autotuners took their first configuration.
    """

    target: Target
    kernels: tuple[RecordedKernel, ...]
    library: tuple[LibraryCall, ...] = ()
    others: int = 0
    is_fake: bool = False


class RecordedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a recording.

    Attributes:
        schema: Version of this file's layout.
        program: The program's name.
        runs: Its runs, one for each GPU.
    """

    schema: int
    program: str
    runs: tuple[RecordedRun, ...]


class KernelTime(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel of a program; variants of one name and source together. ``None`` is "unknown".

    Attributes:
        kernel: Its name.
        source: As ``RecordedKernel.source``.
        operations: Likewise.
        launches: Launches of all variants.
        variants: Number of variants that were launched.
        each_us: Estimated time of one launch, in microseconds; the average of several variants.
        total_us: Of all launches.
        share: Share of the estimated time of all kernels, 0..1.
        bound: What bounds the variant that takes the most time.
        finding: The most severe finding: "IRL303".
        severity: Its severity.
        partial: Whether the time of some launches is that of others, of which there are too many.
        entry: The directory of that variant.
        reason: Why the time is unknown.
        flops: Floating-point operations of that variant's launch that takes the most time.
        compute_flops: Those of them that make the floor of its operations.
        roofline: The lower bounds of that launch's time.
        time: Its estimated time.
        choice: How the configuration of an autotuned kernel was chosen where there was no GPU to
            time any: "estimated" to be the fastest, or the "first"; ``None`` elsewhere.
        configuration: The chosen one, by what sets it apart: "BLOCK=1024"; empty if none is chosen.
        configurations: How many there were to choose from.
    """

    kernel: str
    source: str = ""
    operations: tuple[str, ...] = ()
    launches: int | None = None
    variants: int = 1
    each_us: float | None = None
    total_us: float | None = None
    share: float | None = None
    bound: str | None = None
    finding: str | None = None
    severity: Severity | None = None
    partial: bool = False
    entry: str = ""
    reason: str = ""
    flops: int | None = None
    compute_flops: int | None = None
    roofline: Roofline | None = None
    time: TimeEstimate | None = None
    choice: Literal["estimated", "first"] | None = None
    configuration: str = ""
    configurations: int = 0


class LibraryTime(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a library, with the least time that one takes, see ``Roofline``."""

    call: LibraryCall
    floor_us: float | None


def least_time(library: Sequence[LibraryTime]) -> float | None:
    """Return the least time of all calls, in microseconds; ``None`` where none of them has one."""
    least = sum((each.floor_us or 0.0) * each.call.calls for each in library)
    return least if least or not library else None


class ProgramRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a program ran on one GPU.

    Attributes:
        program: The program's name.
        target: The GPU.
        kernels: Its kernels, the most time together first; unknown times last.
        library: Calls of libraries, the largest floor first.
        others: Calls of PyTorch's own kernels.
        candidates: Variants that only an autotuner tried.
        total_us: Estimated time of all launches whose time is known; ``None`` if of none.
        launched: Launches of each entry; ``None`` where they are unknown.
    """

    program: str
    target: Target
    kernels: tuple[KernelTime, ...]
    library: tuple[LibraryTime, ...] = ()
    others: int = 0
    candidates: int = 0
    total_us: float | None = None
    launched: dict[str, int | None] = {}


class KernelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel of two programs; ``None`` on a side that does not have it, or of unknown time.

    Attributes:
        kernel: Its name; of generated kernels, without the number.
        operations: As ``RecordedKernel.operations``.
        before: Launches of the first program.
        after: Launches of the second.
        before_us: Estimated time of all of them, in microseconds.
        after_us: The same of the second.
    """

    kernel: str
    operations: tuple[str, ...] = ()
    before: int | None = None
    after: int | None = None
    before_us: float | None = None
    after_us: float | None = None

    @property
    def change_us(self) -> float | None:
        """By how much the program's time changes; ``None`` where a time is unknown."""
        if (self.before is not None and self.before_us is None) or (
            self.after is not None and self.after_us is None
        ):
            return None
        return (self.after_us or 0.0) - (self.before_us or 0.0)


class CallChange(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a library whose number changed: 0 on a side without any."""

    name: str
    operands: str
    before: int
    after: int


class ProgramChange(msgspec.Struct, frozen=True, kw_only=True):
    """Two recordings compared as programs, on one GPU or from one to another.

    Attributes:
        before: Target of the first.
        after: Target of the second.
        kernels: Their kernels, the largest change of time first, unknown ones last.
        library: Changed calls of libraries, whose time is unknown.
        before_us: Estimated time of the first's launches whose time is known on both sides.
        after_us: The same of the second's.
        library_before_us: The least time of the first's calls of libraries, as far as it is known;
            ``None`` where that of none is.
        library_after_us: The same of the second's.
    """

    before: Target
    after: Target
    kernels: tuple[KernelChange, ...]
    library: tuple[CallChange, ...] = ()
    before_us: float | None = None
    after_us: float | None = None
    library_before_us: float | None = None
    library_after_us: float | None = None
