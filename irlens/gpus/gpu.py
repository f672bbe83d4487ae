"""Records of a GPU: the limits of its architecture, and the product that carries them."""

import re
from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from irlens.gpus.rates import Dtype, Rates, Unit, require
from irlens.gpus.timing import Timing
from irlens.model.capture import MOST_CTAS
from irlens.model.config import Target, Vendor

_NAME_PATTERN: dict[Vendor, str] = {"nvidia": r"sm_\d{2,3}", "amd": r"gfx[0-9a-f]{3,4}"}


class ScalarFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of scalar registers that warps share.

    Attributes:
        per_partition: Registers that the warps of one sub-partition share.
        unit: Registers are handed to a warp in multiples of this many.
        reserved: Additional registers of every warp that the trap handler takes.
    """

    per_partition: int
    unit: int
    reserved: int


class Arch(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one compute architecture. Constructing a row checks it.

    "SM" is the block of hardware that the warps of a CTA share: a streaming multiprocessor
    (NVIDIA), a compute unit (CDNA), a work-group processor (RDNA). "Warp" is a wave and "CTA" a
    workgroup for AMD; a register is 32 bits of one lane.

    Attributes:
        name: The compiler's name: "sm_90", "gfx942".
        vendor: "nvidia" or "amd".
        family: The generation's name: "Hopper", "CDNA 3".
        multiprocessor: The vendor's name for the block of hardware that all "per SM" limits
            refer to.
        units_per_sm: Units that the vendor counts in a product per multiprocessor: 2 where a
            product is sold in CUs but a workgroup runs on a WGP, else 1.
        warp_size: Lanes of a warp, as Triton compiles for it.
        warps_per_sm: Resident warps.
        blocks_per_sm: Resident CTAs; ``None`` where only warps and barriers limit them.
        threads_per_block: Threads of one CTA.
        partitions: Sub-partitions (AMD: SIMDs) of an SM; each has its own share of the
            registers, and a warp lives in one of them.
        registers_per_sm: Vector registers, all lanes and partitions together.
        registers_per_block: Vector registers that one CTA may hold.
        registers_per_thread: Registers that an instruction can name, AGPRs included where the
            file is unified.
        register_allocation_max: Registers per thread that the launch accepts.
        register_unit: Registers are handed to a warp in multiples of this many, all lanes
            together.
        register_granule: AMD: registers per lane that one granule of a kernel descriptor's
            GRANULATED_WORKITEM_VGPR_COUNT stands for; ``None`` where there is no such thing.
        tensor_memory_columns: Columns of tensor memory, of 128 lanes and 32 bits, that the CTAs of
            an SM share; ``None`` where there are none, or no document gives the number.
        scalar_registers: The scalar registers of a sub-partition; ``None`` where every warp gets
            a fixed number or there are none.
        shared_per_sm: Shared memory in bytes, at the largest carve-out.
        shared_per_block: Shared memory of one CTA without opting in to more, bytes.
        shared_per_block_optin: Shared memory of one CTA at most, bytes.
        shared_unit: Shared memory is handed to a CTA in multiples of this many bytes.
        shared_reserved_per_block: Bytes of every CTA's shared memory that the driver takes.
        barriers_per_sm: Named barriers that the CTAs of an SM share; ``None`` where the driver
            does not limit CTAs by them.
        shared_banks: Banks of shared memory, of 4 bytes each; ``None`` where sources disagree or
            there is none.
        grid_blocks: The most CTAs of a grid in x, y and z; ``None`` where only threads are limited.
        grid_threads: The most threads of a grid along one dimension; ``None`` where only CTAs are
            limited.
        memory_granule: Bytes in which the first cache takes global memory: NVIDIA's sector, AMD's
            line; ``None`` where no document gives it.
        single_warp_barrier: Whether a CTA of a single warp holds barriers too.
        sources: The source of each number, by field.

    Raises:
        ValueError: The row contradicts itself, or a number has no source.
    """

    name: str
    vendor: Vendor
    family: str
    multiprocessor: Literal["SM", "CU", "WGP"]
    units_per_sm: int
    warp_size: int
    warps_per_sm: int
    blocks_per_sm: int | None
    threads_per_block: int
    partitions: int
    registers_per_sm: int
    registers_per_block: int
    registers_per_thread: int
    register_allocation_max: int
    register_unit: int
    scalar_registers: ScalarFile | None
    shared_per_sm: int
    shared_per_block: int
    shared_per_block_optin: int
    shared_unit: int
    shared_reserved_per_block: int
    barriers_per_sm: int | None
    single_warp_barrier: bool
    sources: dict[str, str]
    register_granule: int | None = None
    tensor_memory_columns: int | None = None
    memory_granule: int | None = None
    shared_banks: int | None = None
    grid_blocks: tuple[int, int, int] | None = None
    grid_threads: int | None = None

    def __post_init__(self) -> None:
        numbers = {
            field
            for field in self.__struct_fields__
            if type(getattr(self, field)) in (int, ScalarFile, tuple)
        }
        per_warp = self.register_allocation_max * self.warp_size
        checks = {
            "the name is not the vendor's": re.fullmatch(_NAME_PATTERN[self.vendor], self.name),
            "a number is negative": all(
                getattr(self, field) >= 0 for field in numbers - {"scalar_registers", "grid_blocks"}
            ),
            "partitions do not share the warps evenly": self.warps_per_sm % self.partitions == 0,
            "the largest CTA does not fit": self.threads_per_block
            <= self.warps_per_sm * self.warp_size,
            "partitions do not share the registers in whole units": self.registers_per_sm
            % (self.partitions * self.register_unit)
            == 0,
            "a unit of registers is not whole for each lane": self.register_unit % self.warp_size
            == 0,
            "a warp cannot hold what it may address": self.registers_per_thread
            <= self.register_allocation_max
            and per_warp * self.partitions <= self.registers_per_sm,
            "a CTA may hold more registers than there are": self.registers_per_block
            <= self.registers_per_sm,
            "shared memory is not whole units": self.shared_per_sm % self.shared_unit == 0,
            "shared memory of a CTA does not fit": self.shared_per_block
            <= self.shared_per_block_optin
            <= self.shared_per_sm - self.shared_reserved_per_block,
            "a number has no source, or a source no number": set(self.sources) == numbers,
        }
        require(checks, self.name)

    def most_in_grid(self, threads: int) -> tuple[int, int, int]:
        """Return the most CTAs of a grid in x, y and z; ``MOST_CTAS`` where no limit is known.

        Args:
            threads: Of a CTA, which lie along x.
        """
        blocks = self.grid_blocks or (MOST_CTAS,) * 3
        along = self.grid_threads or MOST_CTAS * threads
        return min(blocks[0], along // threads), min(blocks[1], along), min(blocks[2], along)

    @property
    def registers_per_partition(self) -> int:
        """Vector registers of one sub-partition, all lanes together."""
        return self.registers_per_sm // self.partitions


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU on the market. Constructing a row checks it.

    Attributes:
        name: The name irlens uses: "h100", "mi300x".
        title: The vendor's name for it.
        units: SMs (NVIDIA) or compute units (AMD) of one device, as the vendor counts them;
            ``None`` if unknown.
        bandwidth: Peak memory bandwidth, bytes per second; ``None`` if unknown.
        latency: Seconds from a load's issue to its data from memory, with nothing else in
            flight; ``None`` if unknown.
        memory: Size of its memory in bytes, as vendors count it, a GB of 2^30; drivers keep some
            percent of it. ``None`` if unknown, or if there are several sizes.
        clock: Peak ("boost") clock in Hz, as the vendor or the driver states it; ``None`` if
            unknown.
        drivers: The names by which drivers report it, and no other GPU.
        source: The source of these numbers.
        l2_bytes: Capacity of the L2; ``None`` if unknown.
        half_rate_fp32_accumulation: Whether tensor cores that accumulate in fp32 run at half their
            rate.
        tensor_rates_known: Whether its tensor cores run at its architecture's rates; otherwise
            sources disagree.
        fp64_rates_known: The same of its products and vectors of fp64.

    Raises:
        ValueError: The row is not plausible.
    """

    name: str
    title: str
    arch: str
    units: int | None
    bandwidth: float | None
    latency: float | None
    memory: int | None
    clock: float | None
    drivers: tuple[str, ...]
    source: str
    l2_bytes: int | None = None
    l2_source: str = ""
    half_rate_fp32_accumulation: bool = False
    tensor_rates_known: bool = True
    fp64_rates_known: bool = True

    def __post_init__(self) -> None:
        checks = {
            "the name is not lower-case words": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name),
            "units": self.units is None or 1 <= self.units <= 1024,
            "bandwidth is not in bytes/s": self.bandwidth is None or 5e10 <= self.bandwidth <= 5e13,
            "latency is not in seconds": self.latency is None or 5e-8 <= self.latency <= 5e-6,
            "memory is not in bytes": self.memory is None or 1 << 30 <= self.memory <= 1 << 40,
            "clock is not in Hz": self.clock is None or 5e8 <= self.clock <= 5e9,
            "L2 is not in bytes": self.l2_bytes is None or 1 << 20 <= self.l2_bytes <= 1 << 30,
            "no source": self.source and (self.l2_bytes is None) == (not self.l2_source),
        }
        require(checks, self.name)


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture, its rates and timing if they are known, and the product if one is known."""

    arch: Arch
    product: Product | None = None
    rates: Rates | None = None
    timing: Timing | None = None

    @property
    def name(self) -> str:
        """The product's name, or else the architecture's."""
        return self.product.name if self.product else self.arch.name

    @property
    def sm_count(self) -> int | None:
        """SMs (CUs, WGPs) of the device; ``None`` where the product is not known."""
        if self.product is None or self.product.units is None:
            return None
        return self.product.units // self.arch.units_per_sm

    @property
    def unsourced(self) -> list[str]:
        """What of the product a time needs and no source states."""
        product = self.product
        if product is None:
            return []
        figures = {"SMs": product.units, "bandwidth": product.bandwidth, "clock": product.clock}
        return [name for name, value in figures.items() if value is None]

    @property
    def bytes_to_cover_latency(self) -> int | None:
        """The least bytes that each SM must have in flight to keep the memory busy.

        Little's law: bandwidth times latency, shared evenly. A memory under load is slower than
        the idle one whose latency is known, so that more bytes do not hurt.
        """
        product, units = self.product, self.sm_count
        if product is None or units is None:
            return None
        if product.bandwidth is None or product.latency is None:
            return None
        return round(product.bandwidth * product.latency / units)

    @property
    def multiply_adds(self) -> float:
        """Multiply-adds of 16 bits that the tensor cores of an SM do in a cycle; 0 if unknown."""
        rates = self.rates.tensor if self.rates is not None else {}
        return rates.get("fp16", 0) / 2 * self.arch.units_per_sm

    def peak_flops(self, dtype: Dtype, unit: Unit, *, in_fp32: bool = False) -> float | None:
        """Return the peak rate of dense operations at the boost clock, per second.

        Args:
            in_fp32: Whether tensor cores accumulate products of fp16 or fp8 in fp32; else they are
                taken to do so in fp16 where that is faster.

        Returns:
            ``None`` if the product is not known, or one of its figures.
        """
        product = self.product
        if product is None or product.units is None or product.clock is None or not self.rates:
            return None
        rates = self.rates.of(unit)
        if dtype not in rates or (unit == "tensor" and not product.tensor_rates_known):
            return None
        if dtype == "fp64" and not product.fp64_rates_known:
            return None
        sums = ("tf32", "bf16", *(("fp16", "fp8") if in_fp32 else ()))
        half_rate = product.half_rate_fp32_accumulation and dtype in sums
        divisor = 2 if half_rate and unit == "tensor" else 1
        return product.units * product.clock * rates[dtype] / divisor

    @property
    def target(self) -> Target:
        """The compile target of kernels for this GPU."""
        return Target(
            vendor=self.arch.vendor,
            arch=self.arch.name,
            warp_size=self.arch.warp_size,
            product=self.product.name if self.product else None,
        )

    def in_cu_mode(self) -> Self:
        """Return the GPU as seen by a kernel built with ``wgp_cu_mode="cu"``.

        RDNA can bind a workgroup to one of the two compute units of a work-group processor,
        which halves everything that its waves can share (LLVM AMDGPU, target feature ``cumode``).
        A GPU without work-group processors is returned unchanged.
        """
        arch = self.arch
        if arch.multiprocessor != "WGP":
            return self
        halved = replace(
            arch,
            multiprocessor="CU",
            units_per_sm=1,
            warps_per_sm=arch.warps_per_sm // 2,
            partitions=arch.partitions // 2,
            registers_per_sm=arch.registers_per_sm // 2,
            registers_per_block=arch.registers_per_block // 2,
            shared_per_sm=arch.shared_per_sm // 2,
            barriers_per_sm=None if arch.barriers_per_sm is None else arch.barriers_per_sm // 2,
        )
        return replace(self, arch=halved)
