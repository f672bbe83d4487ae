"""The records of what a kernel holds: registers and memories, warp groups, spills."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from irlens.model.several import total
from irlens.model.source import SourceLocation

SpillPlace: TypeAlias = Literal["memory", "AGPR", "VGPR lane"]
ArrayOrigin: TypeAlias = Literal["trigonometry", "arguments", "indexed"]


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Registers and memories of one thread and one CTA (AMD: lane and workgroup).

    Attributes:
        registers: 32-bit registers per thread, from the machine code. AMD: vector registers
            allocated per lane, AGPRs included where the register file is unified.
        shared_dynamic_bytes: Shared memory per CTA, allocated at launch.
        shared_static_bytes: Shared memory per CTA, fixed in the binary; reserved bytes excluded.
        local_bytes: Local (AMD: private) memory per thread: spills and stack arrays.
        stack_bytes: Stack frame per thread.
        shared_reserved_bytes: Shared memory per CTA that the system reserves.
        constant_bytes: Constant memory, kernel parameters included.
        code_bytes: Machine code of the kernel.
        barriers: Named barriers per CTA.
        tensor_memory_columns: Blackwell: columns of tensor memory that a CTA allocates, 0 if none;
            each has 128 lanes of 32 bits.
        tensor_memory_bytes: The same in bytes.
        vgprs: AMD: architectural vector registers per lane.
        agprs: AMD: accumulation registers per lane.
        sgprs: AMD: scalar registers per wave.
        vgpr_spills: AMD: vector registers spilled to memory.
        sgpr_spills: AMD: scalar registers spilled.
        lds_bytes: AMD: local data share per workgroup.
    """

    registers: int | None
    shared_dynamic_bytes: int | None
    shared_static_bytes: int | None
    local_bytes: int | None
    stack_bytes: int | None
    shared_reserved_bytes: int | None = None
    constant_bytes: int | None = None
    code_bytes: int | None = None
    barriers: int | None = None
    tensor_memory_columns: int | None = None
    tensor_memory_bytes: int | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    vgpr_spills: int | None = None
    sgpr_spills: int | None = None
    lds_bytes: int | None = None

    @property
    def shared_bytes(self) -> int | None:
        """Shared memory that a CTA takes, dynamic and static; ``None`` if one is unknown."""
        return total((self.shared_dynamic_bytes, self.shared_static_bytes))


class WarpGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Warps of a CTA that run their own part of a warp-specialized kernel.

    Attributes:
        name: "default" for the warps that run the kernel's own code, "partition0" for those of the
            first partition of its ``ttg.warp_specialize``.
        num_warps: Number of warps.
        registers: Registers per thread while they run that part, as ``setmaxnreg`` sets them;
            ``None`` where they keep the registers of the launch.
    """

    name: str
    num_warps: int
    registers: int | None


def spills_to_agprs_alone(held: Resources) -> bool:
    """Return whether all spilled VGPRs are in AGPRs, so that the kernel has no scratch."""
    return bool(held.vgpr_spills and held.agprs and held.local_bytes == 0)


class SpillSite(msgspec.Struct, frozen=True, kw_only=True):
    """One instruction that spills or reloads a register.

    A called function's registers that it saves are spilled, too.

    Attributes:
        stage: "amdgcn" or "sass".
        kind: "store" spills, "load" reloads.
        place: The destination: "memory" is private memory (NVIDIA: local, AMD: scratch).
        line: 1-based line in the stage's text.
        source: The line of Python it belongs to, in the outermost function: the kernel itself.
        loop_depth: Number of loops around it, those around calls included; ``None`` where it is
            not known what leads there.
        bytes: Per thread; for a "VGPR lane" per wave. ``None`` where the instruction does not say.
    """

    stage: str
    kind: Literal["store", "load"]
    place: SpillPlace
    line: int
    source: SourceLocation | None
    loop_depth: int | None
    bytes: int | None


def kept_in_agprs(sites: Iterable[SpillSite]) -> int:
    """Return the registers per lane that spills move to AGPRs, counted by stores as LLVM does."""
    stores = (each for each in sites if each.place == "AGPR" and each.kind == "store")
    return sum(each.bytes or 0 for each in stores) // 4


class LocalArray(msgspec.Struct, frozen=True, kw_only=True):
    """An array that a function keeps in local memory (AMD: scratch), apart from spilled registers.

    Attributes:
        origin: "trigonometry" for the array in which ``sin``, ``cos`` and ``tan`` reduce large
            arguments, "arguments" for those of ``device_print`` and assertions, "indexed" for an
            array that the code indexes at run time.
        bytes: Per thread; ``None`` if unknown.
        sources: The lines of Python that access it, in the outermost function: the kernel itself.
    """

    origin: ArrayOrigin
    bytes: int | None
    sources: list[SourceLocation]
