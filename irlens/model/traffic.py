"""The records of global-memory traffic: what a launch requests of memory, and what it computes."""

from typing import Literal

import msgspec

from irlens.model.source import SourceLocation

#: How the names of operations end that read global memory.
_LOADS = ("load", "gather", "global_to_local", "load_to_local")


class OutOfBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Lanes that access memory outside the tensor that an argument is.

    Attributes:
        lanes: Lanes, over all programs.
        program: The first program with such a lane, in x, y and z.
        offset: Byte offset from the tensor's beginning of that program's first such lane.
        tensor_bytes: Bytes that the tensor has.
    """

    lanes: int
    program: tuple[int, int, int]
    offset: int
    tensor_bytes: int


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the ttir that accesses global memory, over all programs of a launch.

    A request is one instruction of a warp with at least one active lane. A sector is 32 bytes (AMD:
    a cache line); each sector that a request touches counts once for it. ``None`` is "unknown", see
    ``reason``.

    Attributes:
        line: 1-based line of the ttir.
        source: The line of Python it belongs to; ``None`` if unknown.
        operation: "tt.load", "tt.store", "tt.atomic_rmw", ...
        argument: Name of the kernel's argument that it accesses memory through.
        bytes: Bytes that the lanes which are not masked off access, re-reads included. A load or
            a store counts once what all elements along a dimension of its tile have the address of.
        distinct_bytes: The same with each byte counted once over the whole grid.
        masked: Lanes that are masked off, or outside the tensor of a descriptor.
        requests: Requests of warps, as Nsight Compute's
            ``l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st}`` count them. The TMA's copies and
            AMD's scalar loads make none.
        sectors: Sectors that the requests touch (``l1tex__t_sectors_...``).
        ideal_sectors: The fewest sectors that hold as many bytes as each program accesses.
        width: Bytes that one thread's instruction accesses.
        out_of_bounds: Lanes outside the argument's tensor; ``None`` where there are none, or the
            tensor's size is unknown.
        reason: Why requests and sectors are unknown; empty where they are known.
    """

    line: int
    source: SourceLocation | None
    operation: str
    argument: str
    bytes: int
    distinct_bytes: int
    masked: int
    requests: int | None = None
    sectors: int | None = None
    ideal_sectors: int | None = None
    width: int | None = None
    out_of_bounds: OutOfBounds | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """What it does, for a reader: "load", "atomic rmw", "async copy", "TMA store"."""
        dialect, _, name = self.operation.partition(".")
        name = name.removeprefix("descriptor_").removeprefix("buffer_")
        if dialect == "tt":
            return name.replace("_", " ")
        if "tma_" in name or "tdm_" in name:
            engine = "TMA" if "tma_" in name else "TDM"
            words = {"gather": "gather", "scatter": "scatter", "reduce": "reduce"}
            return f"{engine} {words.get(name.rpartition('_')[2], self.direction)}"
        if name.endswith("to_local"):
            return "async copy"
        return name.replace("_", " ")

    @property
    def direction(self) -> Literal["load", "store", "atomic"]:
        """What it does to memory."""
        name = self.operation.partition(".")[2]
        if "atomic" in name or name.endswith("reduce"):
            return "atomic"
        return "load" if name.endswith(_LOADS) else "store"


class ArgumentTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that a launch accesses through one argument; an atomic operation reads and writes.

    Attributes:
        argument: Its name.
        read_bytes: Bytes read, each as often as it is read.
        distinct_read_bytes: Bytes read, each counted once over the whole grid.
        written_bytes: Bytes written, each as often as it is written.
        distinct_written_bytes: Bytes written, each counted once over the whole grid.
    """

    argument: str
    read_bytes: int
    distinct_read_bytes: int
    written_bytes: int
    distinct_written_bytes: int


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of global memory that a launch requests. ``None`` is "unknown", see ``reason``.

    An atomic operation reads and writes. Arguments count as tensors that do not overlap.

    Attributes:
        read_bytes: Bytes read, each as often as it is read.
        written_bytes: Bytes written, each as often as it is written.
        distinct_read_bytes: Bytes read, each counted once over the whole grid.
        distinct_written_bytes: Bytes written, each counted once over the whole grid.
        wave_read_bytes: Bytes read, each counted once in every wave of programs; what DRAM
            delivers if the L2 keeps nothing from one wave to the next.
        load_requests: Requests of warps that load.
        load_sectors: Sectors that they touch.
        ideal_load_sectors: The fewest sectors that hold as many bytes.
        store_requests: Requests of warps that store.
        store_sectors: Sectors that they touch.
        ideal_store_sectors: The fewest sectors that hold as many bytes.
        flops: Floating-point operations by the type that they are computed in ("fp16", "fp8", ...),
            a multiply-add of a matrix product being two. Products count as the type by whose rate
            they are computed.
        tensor_flops: Those of them that tensor cores do.
        multiplied_flops: What tensor cores compute for them: three times as much for "tf32x3".
        accesses: The operations that access memory, in the order of the ttir.
        arguments: What is accessed through each argument, which adds up to the bytes read and
            written; empty where those are unknown.
        reason: Why figures are unknown; empty where all are known.
        at_least: Why more may be moved than these: a loop that waits for other programs, which
            counts once. Empty where nothing more is.
    """

    read_bytes: int | None = None
    written_bytes: int | None = None
    distinct_read_bytes: int | None = None
    distinct_written_bytes: int | None = None
    wave_read_bytes: int | None = None
    load_requests: int | None = None
    load_sectors: int | None = None
    ideal_load_sectors: int | None = None
    store_requests: int | None = None
    store_sectors: int | None = None
    ideal_store_sectors: int | None = None
    flops: dict[str, int] | None = None
    tensor_flops: dict[str, int] | None = None
    multiplied_flops: dict[str, int] | None = None
    accesses: list[Access] = []
    arguments: list[ArgumentTraffic] = []
    reason: str = ""
    at_least: str = ""


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bounds of a launch's time, in microseconds; what is unknown is ``None``.

    Attributes:
        memory_us: The DRAM's bytes at its theoretical bandwidth.
        compute_us: The operations at their units' peak rates.
        floor_us: The larger of the two.
        bound: Which of the two the floor is.
        compute_type: The operations whose units take longest, and so make ``compute_us``: "fp16
            tensor", "fp32"; empty where there are none, or they are unknown.
        flops_per_byte: Operations for each byte of DRAM traffic.
        reason: Why something is unknown.
    """

    memory_us: float | None = None
    compute_us: float | None = None
    floor_us: float | None = None
    bound: Literal["memory", "compute"] | None = None
    compute_type: str = ""
    flops_per_byte: float | None = None
    reason: str | None = None


def flops_of_floor(traffic: Traffic | None, roofline: Roofline | None) -> int | None:
    """Return the operations that make the compute floor, of one type; ``None`` if unknown."""
    if traffic is None or traffic.flops is None or roofline is None:
        return None
    dtype, _, tensor = roofline.compute_type.partition(" ")
    products = traffic.tensor_flops or {}
    if tensor:
        multiplied = traffic.multiplied_flops
        return (products if multiplied is None else multiplied).get(dtype)
    return traffic.flops.get(dtype, 0) - products.get(dtype, 0) or None


class MatrixProduct(msgspec.Struct, frozen=True, kw_only=True):
    """One operation that multiplies matrices. ``None`` is "unknown", see ``reason``.

    Attributes:
        line: 1-based line of the ttir; of the ttgir for kernels without a ttir.
        source: The line of Python it belongs to; ``None`` if unknown.
        operation: "tt.dot", "tt.dot_scaled", "ttng.tc_gen5_mma", ...
        shape: M, N and K of one execution, after the batch if it has one.
        operands: Types of its operands: "e4m3", "bf16 × e2m1".
        computed: Types that are multiplied: "fp16".
        rate: The type by whose rate they are: "fp8" for products of e4m3 or of e2m1 by e4m3.
        on_tensor_cores: Whether tensor cores (AMD: matrix cores) multiply them.
        instruction: The matrix instruction; ``None`` without one.
        sums: The type that its instruction sums up in; ``None`` where that does not say it.
        repeated: Products that are computed in its place: 3 for "tf32x3".
        slowdown: How many times as long it takes at the GPU's peak as in its operands' own type;
            ``None`` where the GPU does not multiply that, or a rate is unknown.
        reason: Why something is unknown; empty if nothing is.
    """

    line: int
    source: SourceLocation | None
    operation: str
    shape: tuple[int, ...]
    operands: str
    computed: str | None = None
    rate: str | None = None
    on_tensor_cores: bool | None = None
    instruction: str | None = None
    sums: str | None = None
    repeated: int = 1
    slowdown: float | None = None
    reason: str = ""

    @property
    def multiplications(self) -> int:
        """Multiply-adds of one execution."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def slows_down(self) -> bool:
        """Whether tensor cores compute it in a type that is slower than its operands' own."""
        return bool(self.on_tensor_cores and self.slowdown and self.slowdown > 1)

    @property
    def computed_how(self) -> str:
        """How it is computed, where that is not its operands' own way: "in fp16"."""
        if self.computed == self.operands:
            return f"at the rate of {self.rate}"
        return f"in {self.computed}"
