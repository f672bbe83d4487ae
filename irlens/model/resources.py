"""The registers and memories of a kernel, as a record."""

import msgspec


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one thread and one CTA (AMD: lane and workgroup) hold.

    Attributes:
        registers: 32-bit registers per thread, from the machine code. For AMD the vector
            registers a lane is allocated for, AGPRs included where the file is unified.
        shared_dynamic_bytes: Shared memory per CTA given at launch.
        shared_static_bytes: Shared memory per CTA fixed in the binary, reserved bytes excluded.
        local_bytes: Local (AMD: private) memory per thread: spills and stack arrays together.
        stack_bytes: Stack frame per thread.
        shared_reserved_bytes: Shared memory per CTA that the system takes for itself.
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
