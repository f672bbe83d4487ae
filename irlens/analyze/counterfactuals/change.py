"""A change of a compilation, what it is made of, and the parts that all makers share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.address_slice import computed_from
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation, edits
from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Pointer, Tensor
from irlens.model.config import Config
from irlens.model.report import Blame, Finding, Occupancy
from irlens.model.source import SourceLocation

MOST_WARPS = 32
#: AMD's option for the least number of waves that each SIMD has registers for.
WAVES = "waves_per_eu"
#: Parts of the names of the passes that specialize warps.
SPECIALIZING = ("WarpSpecial", "Partition")
#: How often a constexpr is doubled.
_MOST_DOUBLINGS = 3


class Change(msgspec.Struct, frozen=True):
    """One change of a compilation.

    Attributes:
        settings: Options by name, as written on the command line.
        ttir: The kernel's ttir with the change in it; empty if that stays.
        is_cause: Whether it changes what is blamed; one that may only relieve it proves nothing.
        cause: What it blames instead of the finding's own reason; empty for that.
        at: The line of Python whose loads the deciding pass treats differently; ``None`` for the
            finding's own line.
        without: Parts of the names of passes that leave the IR as it is with the change, and do not
            without it: the first of them decides.
        grows: The dimension of the access's tile that is blamed, from the end (-1); a change that
            makes this one longer, and no other, changes the cause. ``None`` if unknown.
        against: Another finding, which it is to remove and blames; ``None`` if it blames none.
        renamed: Types that it writes, each with the one that stood there: no pass decides these.
    """

    words: str
    settings: Mapping[str, str] = {}
    ttir: str = ""
    is_cause: bool = True
    cause: str = ""
    at: SourceLocation | None = None
    without: tuple[str, ...] = ()
    grows: int | None = None
    against: Finding | None = None
    renamed: tuple[tuple[str, str], ...] = ()


def setting(name: str, value: int) -> Change:
    """Return the change of one option, worded as on the command line."""
    return Change(f"{name}={value}", {name: str(value)})


def relieving(change: Change) -> Change:
    """Return a change as one that may relieve what is blamed, and proves nothing."""
    return replace(change, is_cause=False)


def stages_of(module: Module, loop: Operation, stages: int, where: str = "") -> Change:
    """Return the change of the stages that a loop has of its own.

    Args:
        where: What to say after "on the loop".
    """
    text = edits.with_stages(module, loop, stages)
    return Change(f"num_stages={stages} on the loop{where}", ttir=text)


def always_taken(module: Module, branch: Operation) -> Change:
    """Return the change that does what a condition guards in every case."""
    text = edits.with_one_way(module, branch)
    return Change(f"the condition{place_of(branch)} always taken", ttir=text)


class Symptom(msgspec.Struct, frozen=True):
    """A finding, and the compilation that its experiments change.

    Attributes:
        triton: The version of the compiler, (3, 9); empty if unknown.
        target: The architecture, "sm_90"; empty if unknown.
        sm_count: SMs of the GPU; ``None`` if unknown.
        said: Why the assembler serialized products, in its words; empty if it did not say.
    """

    finding: Finding
    module: Module
    config: Config
    others: Sequence[Finding] = ()
    is_amd: bool = False
    occupancy: Occupancy | None = None
    registers: int | None = None
    triton: tuple[int, ...] = ()
    target: str = ""
    sm_count: int | None = None
    said: str = ""

    @property
    def blame(self) -> Blame:
        """What the finding blames; its message where the rule does not say."""
        return self.finding.blame or Blame(reason=self.finding.message)

    def operation(self, *deeds: Deed) -> Operation | None:
        """Return the first operation of the finding's line of Python that does one of these."""
        module = self.module
        if self.finding.stage == module.stage:
            at = (each for each in module.doing(*deeds) if each.span.line == self.finding.line)
            if (found := next(at, None)) is not None:
                return found
        return next(iter(self.operations(*deeds)), None)

    def operations(self, *deeds: Deed) -> list[Operation]:
        """Return all operations of the finding's line of Python that do one of these."""
        place = self.finding.source and (self.finding.source.file, self.finding.source.line)
        frames = ((each, user_line(each)) for each in self.module.doing(*deeds))
        return [each for each, at in frames if at and (at.file, at.line) == place]

    def enclosing(self, operation: Operation | None, deed: Deed) -> Operation | None:
        """Return the innermost operation around another one that does this."""
        while operation is not None and operation.parent is not None:
            operation = self.module.operations[operation.parent]
            if operation.does == deed:
                return operation
        return None


def more_registers(symptom: Symptom) -> Iterator[Change]:
    """Yield as many registers as a thread can have, in place of what the configuration leaves it.

    AMD's ``waves_per_eu`` has LLVM leave registers to that many waves on each SIMD.
    """
    limit, warps = symptom.config.maxnreg, symptom.config.num_warps
    waves = (symptom.config.options or {}).get(WAVES)
    if symptom.is_amd and isinstance(waves, int) and waves > 1:
        cause = f"{WAVES}={waves} limits the registers"
        yield Change(f"{WAVES}=1 in place of {waves}", {WAVES: "1"}, cause=cause)
    if limit is None or warps is None or symptom.is_amd or not symptom.target:
        return
    arch = gpus.by_arch(symptom.target).arch
    of_warp = arch.registers_per_block // warps // arch.register_unit * arch.register_unit
    most = min(arch.registers_per_thread, of_warp // arch.warp_size)
    if limit < most:
        words = f"maxnreg={most} in place of {limit}"
        yield Change(words, {"maxnreg": str(most)}, cause=f"maxnreg={limit} limits the registers")


Maker: TypeAlias = Callable[[Symptom], Iterator[Change]]


def more_warps(symptom: Symptom) -> Iterator[Change]:
    """Yield more warps, as a CTA may have them, each with fewer elements of the same tile."""
    warps, most = symptom.config.num_warps, MOST_WARPS
    if symptom.target:
        arch = gpus.by_arch(symptom.target).arch
        most = arch.threads_per_block // arch.warp_size
    while warps is not None and 0 < warps < most:
        warps *= 2
        yield setting("num_warps", warps)


def fewer_warps(symptom: Symptom) -> Iterator[Change]:
    """Yield fewer warps, whose threads hold more elements of the same tile."""
    warps = symptom.config.num_warps or 1
    while warps > 1:
        warps //= 2
        yield setting("num_warps", warps)


def enough_warps(symptom: Symptom) -> Iterator[Change]:
    """Yield the number of warps that would do."""
    warps = symptom.blame.suffices
    if warps is not None and warps != symptom.config.num_warps:
        yield setting("num_warps", warps)


def larger_tile(
    symptom: Symptom,
    operation: Operation,
    enough: int,
    times: int = 1,
    blamed: int | None = None,
) -> Iterator[Change]:
    """Yield larger values of a constexpr that is a short dimension of an operation's tensors.

    Where several constexprs are equal, the tile of the recompilation tells which is the dimension
    that is blamed, if one is; else that the finding goes with one of them proves nothing.

    Args:
        blamed: The dimension that is blamed, from the end (-1); ``None`` if unknown.
    """
    constexprs = symptom.config.own_constexprs()
    kinds = (operation.result_type, *operation.types)  # a product's result has its M and N
    tensor = next((each for each in kinds if isinstance(each, Tensor)), None)
    short = {extent for extent in tensor.shape if 1 < extent < enough} if tensor else set()
    sizes = {
        name: value
        for name, value in constexprs.items()
        if isinstance(value, int) and value in short
    }
    if tensor is not None and blamed is not None and tensor.shape[blamed] not in sizes.values():
        extent = tensor.shape[blamed]  # may be computed from a constexpr, as BLOCK_K // 32
        multiples = {
            name: value
            for name, value in constexprs.items()
            if isinstance(value, int) and value > extent and value % extent == 0
        }
        sizes = dict(sorted(multiples.items(), key=lambda each: each[1] in tensor.shape)) or sizes
    values = list(sizes.values())
    least = max(1, (times - 1).bit_length())
    for doubling in range(least, least + (1 if times > 1 else _MOST_DOUBLINGS)):
        for name, value in sizes.items():  # a dimension that is twice as long first, whichever
            longer = replace(setting(name, value << doubling), grows=blamed)
            yield longer if values.count(value) == 1 else relieving(longer)


def place_of(operation: Operation) -> str:
    """Return " at line 7"; empty where the line is unknown."""
    line = user_line(operation)
    return f" at line {line.line}" if line is not None else ""


def pointer_of(module: Module, load: Operation) -> str | None:
    """Return an argument of the kernel that the address of a load is computed from."""
    tile = loaded_type(load)
    read = {name for each in computed_from(module, load, 1) for name in each.operands}
    parameters = module.kernel.parameters if module.kernel is not None else ()
    return next(
        (
            each.name
            for each in parameters
            if each.name in read
            and isinstance(tile, Tensor)
            and isinstance(each.type, Pointer)
            and str(each.type.pointee) == str(tile.element)
        ),
        None,
    )


def lines_of(operations: Iterable[Operation]) -> str:
    """Return where operations are in the Python source: "lines 3, 7"; empty if unknown."""
    return lines_at(map(user_line, operations))


def lines_at(sources: Iterable[SourceLocation | None]) -> str:
    """Return the lines of some locations: "line 3", "lines 3, 7"; empty if none is known."""
    lines = sorted({at.line for at in sources if at is not None})
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}" if lines else ""


def known_multiples(names: Sequence[str]) -> str:
    """Return that arguments are known to be multiples of 16."""
    known = "known to be a multiple" if len(names) == 1 else "known to be multiples"
    return f"{' and '.join(names)} {known} of 16"
