"""What irlens knows of a cubin: its attributes' codes, its kernels and what each needs."""

from enum import IntEnum

import msgspec


class Code(IntEnum):
    """Attributes of ``.nv.info`` that irlens knows, by cuobjdump's ``EIATTR_`` names."""

    MAX_THREADS = 0x05
    PARAM_CBANK = 0x0A
    REQNTID = 0x10
    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    KPARAM_INFO = 0x17
    CBANK_PARAM_SIZE = 0x19
    MAXREG_COUNT = 0x1B
    EXIT_INSTR_OFFSETS = 0x1C
    S2RCTAID_INSTR_OFFSETS = 0x1D
    CRS_STACK_SIZE = 0x1E
    MAX_STACK_SIZE = 0x23
    COOP_GROUP_INSTR_OFFSETS = 0x28
    COOP_GROUP_MASK_REGIDS = 0x29
    REGCOUNT = 0x2F
    INT_WARP_WIDE_INSTR_OFFSETS = 0x31
    SW2861232_WAR = 0x35
    SW_WAR = 0x36
    CUDA_API_VERSION = 0x37
    NUM_MBARRIERS = 0x38
    MBARRIER_INSTR_OFFSETS = 0x39
    CTA_PER_CLUSTER = 0x3D
    EXPLICIT_CLUSTER = 0x3E
    MAX_CLUSTER_RANK = 0x3F
    RESERVED_SMEM_USED = 0x41
    UNUSED_LOAD_BYTE_OFFSET = 0x44
    KPARAM_INFO_V2 = 0x45
    VRC_CTA_INIT_COUNT = 0x4A
    NUM_BARRIERS = 0x4C
    AT_ENTRY_FRAGMENTS = 0x4F
    SPARSE_MMA_MASK = 0x50
    TCGEN05_1CTA_USED = 0x51
    TCGEN05_2CTA_USED = 0x52
    ANNOTATIONS = 0x55
    MERCURY_ISA_VERSION = 0x5F


class Attribute(msgspec.Struct, frozen=True):
    """One entry of ``.nv.info``: its code and its bytes, as they stand in the file."""

    code: int
    value: bytes


class Parameter(msgspec.Struct, frozen=True):
    """A kernel parameter: its place in the signature, its offset and its size in bytes."""

    ordinal: int
    offset: int
    size: int


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a cubin. ``None`` is "the file does not say".

    Three sizes of per-thread memory are easily mixed up. The *frame* is what the kernel's own
    body keeps in memory: spilled registers and arrays that are indexed at run time. The *stack*
    is the deepest frame of the kernel and all it calls; the driver allocates that much *local*
    memory. ptxas has not filled the separate ``.nv.local`` section since sm_20, and so the
    ``LOCAL`` of ``cuobjdump -res-usage`` is 0 where the driver's "local size" is the stack.

    Attributes:
        name: The symbol, mangled if the source was C++.
        registers: 32-bit registers per thread.
        frame_bytes: Frame of the kernel's own body, per thread.
        stack_bytes: Stack per thread, callees included; 0 where a recursion has no bound.
        local_section_bytes: Size of the ``.nv.local`` section, per thread.
        static_shared_bytes: Static shared memory per CTA, reserved bytes excluded.
        reserved_shared_bytes: Shared memory per CTA that the file counts for the system. A kernel
            that uses no shared memory counts none, and sm_8x never does: there it is only the
            driver that adds it.
        constant_bytes: Size of each constant bank that is the kernel's own, by bank number.
        code_bytes: Machine code with its padding and the functions it calls.
        barriers: Named barriers per CTA: the highest one used, plus one.
        mbarriers: Transaction barriers that the compiler counted.
        required_threads: Threads per CTA in x, y, z that a launch must have (``.reqntid``).
        max_threads: Threads per CTA in x, y, z that a launch may have (``.maxntid``).
        max_registers: The cap the assembler worked under, 255 if there was none.
        cluster: CTAs per cluster in x, y, z (``.reqnctapercluster``).
        parameter_bytes: All parameters together.
        parameters: Each of them, in order.
        toolkit: Version of the CUDA toolkit, "12.8".
        attributes: Every attribute of the kernel's own section, in the file's order.
    """

    name: str
    registers: int | None
    frame_bytes: int | None
    stack_bytes: int | None
    local_section_bytes: int
    static_shared_bytes: int
    reserved_shared_bytes: int
    constant_bytes: dict[int, int]
    code_bytes: int
    barriers: int
    mbarriers: int | None
    required_threads: tuple[int, int, int] | None
    max_threads: tuple[int, int, int] | None
    max_registers: int | None
    cluster: tuple[int, int, int] | None
    parameter_bytes: int | None
    parameters: list[Parameter]
    toolkit: str | None
    attributes: list[Attribute]

    @property
    def local_bytes(self) -> int | None:
        """Local memory per thread, as the driver and Triton's ``n_spills * 4`` count it."""
        if self.stack_bytes is None:
            return None
        return self.stack_bytes + self.local_section_bytes


class Cubin(msgspec.Struct, frozen=True, kw_only=True):
    """A cubin.

    Attributes:
        arch: "sm_90", without the suffix of a feature set; ``None`` in a layout newer than irlens.
        kernels: In the order of their names.
        unknown_attributes: Attribute codes that irlens does not know, with their counts.
    """

    arch: str | None
    kernels: list[Kernel]
    unknown_attributes: dict[int, int]
