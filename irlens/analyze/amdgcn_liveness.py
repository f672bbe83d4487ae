"""Register pressure of AMDGPU assembly: registers whose value some path still reads.

Liveness is a wave's, as in LLVM's register allocation: a vector instruction overwrites its
destination, though only in the lanes that are active. Where LLVM narrows EXEC and branches around
the code if no lane remains, the other lanes' values live on along that branch. Where it left the
branch out, they live on through the narrowed instructions themselves.

A register of which one instruction writes one half of 16 bits, and another the other, counts as
kept by both.

The registers are the allocated ones: a kernel needs at least as many as are ever live, and LLVM
reports the highest number it used, plus one.
"""

from collections.abc import Iterator

import msgspec

from irlens.analyze import liveness
from irlens.analyze.cfg import Cfg
from irlens.analyze.line_pressure import by_line, by_origin, line_of
from irlens.isa.amdgcn import Function, Instruction, RegisterRange, Unknown
from irlens.isa.amdgcn.registers import FILES, SCALAR, VECTOR, access, bits
from irlens.model.pressure import StagePressure
from irlens.model.source import SourceLocation


class Registers(msgspec.Struct, frozen=True):
    """What each instruction reads and writes, as sets of registers (``amdgcn_registers``).

    Attributes:
        reads: Per instruction.
        writes: Per instruction.
        kills: Per instruction what it overwrites in all lanes that matter behind it.
        at_entry: What the hardware fills before the kernel starts.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    kills: tuple[int, ...]
    at_entry: int


class Unreadable(msgspec.Struct, frozen=True):
    """Why a function has no pressure."""

    reason: str


class FilePeaks(msgspec.Struct, frozen=True, kw_only=True):
    """The most registers live at once, for each file by itself.

    Attributes:
        vgprs: Architectural vector registers.
        agprs: Accumulation registers.
        sgprs: Scalar registers, VCC included.
    """

    vgprs: int
    agprs: int
    sgprs: int


class _Point(msgspec.Struct, frozen=True, gc=False):
    """What is live before an instruction, and behind it with its own results."""

    before: int
    behind: int

    def count(self, mask: int) -> int:
        """The registers of some files at the fuller of the two moments."""
        return max((self.before & mask).bit_count(), (self.behind & mask).bit_count())


def analyze(function: Function, cfg: Cfg) -> StagePressure:
    """Return the vector registers live at every instruction, the peak, and what makes it up.

    VGPRs and AGPRs count together, as from gfx90a on they share one file; see ``file_peaks`` for
    each by itself. An instruction counts what is live before it or what is live behind it with
    its own results, whichever is more. A load's destination counts from the load on.
    """
    registers = collect(function, cfg)
    if isinstance(registers, Unreadable):
        return StagePressure(peak=None, line=None, source=None, reason=registers.reason)
    points = _points(cfg, registers)
    if not points:
        return StagePressure(peak=0, line=None, source=None)
    curve = tuple(point.count(VECTOR) for point in points)
    peak = curve.index(max(curve))
    instruction = function.instructions[peak]
    chains = [each.locations for each in function.instructions]
    return StagePressure(
        peak=curve[peak],
        line=instruction.line,
        source=line_of(instruction.locations),
        chain=instruction.locations,
        lines=by_line(chains, curve),
        innermost=by_line(chains, curve, 0),
        curve=curve,
        live=by_origin(_origins(function, cfg, registers, peak, points[peak])),
    )


def file_peaks(function: Function, cfg: Cfg) -> FilePeaks | None:
    """Return the peak of each register file; ``None`` where ``analyze`` has none."""
    registers = collect(function, cfg)
    if isinstance(registers, Unreadable):
        return None
    points = _points(cfg, registers)
    vgprs, agprs, sgprs = (
        max((point.count(mask) for point in points), default=0)
        for mask in (FILES["v"], FILES["a"], SCALAR)
    )
    return FilePeaks(vgprs=vgprs, agprs=agprs, sgprs=sgprs)


def collect(function: Function, cfg: Cfg) -> Registers | Unreadable:
    """Find what each instruction of a function does with registers."""
    for statement in function.statements:
        if isinstance(statement, Unknown):
            return Unreadable(f"the statement on line {statement.line} is not understood")
    if cfg.unknown:
        return Unreadable(f"{cfg.unknown} is not known")
    lanes = 32 if function.directives.get("wavefront_size32") else 64
    reads, writes, kills = [], [], []
    off = False
    for instruction in function.instructions:
        found = access(instruction, lanes)
        if found is None:
            name = instruction.mnemonic
            return Unreadable(f"which registers '{name}' on line {instruction.line} uses")
        reads.append(found.reads)
        writes.append(found.writes)
        kills.append(found.kills & ~VECTOR if off else found.kills)
        off = narrowed(instruction, off)
    return Registers(tuple(reads), tuple(writes), tuple(kills), _at_entry(function))


def narrowed(instruction: Instruction, before: bool) -> bool:
    """Whether lanes may be off behind an instruction that no branch leads around the code for."""
    mnemonic = instruction.mnemonic
    if mnemonic.startswith("s_cbranch_exec"):
        return False
    operands = instruction.operations[0].operands
    to_exec = bool(operands) and any(r.file == "exec" for r in operands[0].registers)
    if "saveexec" in mnemonic or "wrexec" in mnemonic or to_exec:
        return not mnemonic.startswith(("s_or_", "s_mov_"))
    return before or mnemonic.startswith("v_cmpx")


def _at_entry(function: Function) -> int:
    """Registers that hold something when a wave starts.

    These are user and system SGPRs from s0 on, and from v0 on the lane's place in its workgroup
    (AMDGPUUsage, "Initial Kernel Execution State").
    """
    if not function.is_kernel:
        return VECTOR | SCALAR  # a function's arguments, as far as it reads them
    named = function.directives
    scalars = named.get("user_sgpr_count", 16)
    scalars += sum(value for name, value in named.items() if name.startswith("system_sgpr_"))
    vectors = named.get("system_vgpr_workitem_id", 2) + 1
    return bits(RegisterRange("s", 0, scalars)) | bits(RegisterRange("v", 0, vectors))


def _points(cfg: Cfg, registers: Registers) -> list[_Point]:
    reads, writes, kills = registers.reads, registers.writes, registers.kills
    after = liveness.live_out(cfg.ranges, cfg.successors, reads, kills)
    written = liveness.written_before(cfg.ranges, cfg.successors, writes)
    points = [_Point(0, 0)] * len(reads)
    # LLVM leaves registers undefined on paths where it knows that their value does not matter.
    # They are not occupied there, though a later instruction reads them.
    for block, leaving, entered in zip(cfg.ranges, after, written, strict=True):
        known = entered | registers.at_entry
        steps = list(liveness.walk(block, leaving, reads, kills))
        for index, before, behind in reversed(steps):
            entering = before & known
            known |= writes[index]
            points[index] = _Point(entering, behind & known | writes[index])
    return points


def _origins(
    function: Function, cfg: Cfg, registers: Registers, index: int, point: _Point
) -> Iterator[tuple[SourceLocation | None, int]]:
    """For each vector register that is live at an instruction, the line that computed it.

    The hardware fills some before the kernel starts: these come from no line.
    """
    behind = (point.behind & VECTOR).bit_count() > (point.before & VECTOR).bit_count()
    live = (point.behind if behind else point.before) & VECTOR
    writers = liveness.last_writers(
        cfg.ranges, cfg.successors, registers.writes, registers.kills, live, index, behind=behind
    )
    for register in liveness.members(live):
        writer = writers.get(register)
        locations = function.instructions[writer].locations if writer is not None else ()
        yield line_of(locations), 1
