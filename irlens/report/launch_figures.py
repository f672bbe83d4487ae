"""What a launch moves and its roofline: the figures that need arguments and a grid."""

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, cast

import msgspec

from irlens.analyze.facts import Provenance
from irlens.analyze.products import matrix_products
from irlens.analyze.roofline import roofline
from irlens.artifacts import npy
from irlens.gpus import Dtype, Gpu
from irlens.model.report import Occupancy
from irlens.model.traffic import MatrixProduct, Roofline, Traffic
from irlens.report.parsed import Parsed

if TYPE_CHECKING:
    from irlens.analyze.issue_table import IssueTable
    from irlens.analyze.traffic import Survey
    from irlens.analyze.traffic.launch import Numbers
import mmap
import os
import sys

NO_LAUNCH = "the launch is unknown: --arg and --grid give its arguments and its grid"
_NO_GRID = "the grid is unknown: --grid gives it"
#: What products are computed in whose rates with sums in fp32 are published (NVIDIA, 'Ada' and 'RTX
#: Blackwell GPU Architecture', "Peak FP16" and "Peak FP8 Tensor TFLOPS with FP32 Accumulate").
_SUMMED = frozenset({"fp16", "e4m3", "e5m2", "e4m3 × e5m2", "e5m2 × e4m3"})
#: Bytes in which memory delivers: an H200 reads 64 for each sector of 32 that stands alone.
_DRAM_GRANULE = 64
#: What evaluating untrusted text raises where it holds what no compiler writes. A report of
#: everything else must not fail with it.
_EVALUATION_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip


class Machine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a launch runs on, as far as its traffic depends on it.

    Attributes:
        gpu: The GPU; ``None`` where it is unknown.
    """

    parsed: Parsed
    gpu: Gpu | None
    occupancy: Occupancy | None

    @property
    def wave(self) -> int | None:
        """CTAs that the GPU holds at once; ``None`` where that is unknown."""
        if self.gpu is None or self.gpu.sm_count is None or self.occupancy is None:
            return None
        return self.occupancy.blocks_per_sm * self.gpu.sm_count or None

    @cached_property
    def issued(self) -> "IssueTable | None":
        """How it issues the accesses; ``None`` where that is unknown."""
        from irlens.analyze.issue_table import IssueTable

        parsed, gpu = self.parsed, self.gpu
        granule = gpu.arch.memory_granule if gpu is not None else None
        if parsed.ttgir is None or parsed.assembly is None or granule is None:
            return None
        return IssueTable(parsed.ttgir, parsed.assembly, granule)

    @cached_property
    def products(self) -> dict[int, MatrixProduct]:
        """The matrix products by the index of their operation."""
        parsed = self.parsed
        if parsed.source is None:
            return {}
        return matrix_products(parsed.source, parsed.ttgir, parsed.assembly, self.gpu)


def find_traffic(machine: Machine, provenance: Provenance) -> "Survey | None":
    """Return what a capture's launch moves, and from which parts of its memory.

    Raises:
        ArtifactError: A file with a tensor's contents is gone or unreadable.
    """
    parsed = machine.parsed
    config = parsed.code.capture.config
    if parsed.source is None:
        provenance.missing(parsed.why_no_source, "traffic")
        return None
    if not config.args or config.grid is None:
        provenance.missing(_NO_GRID if config.args else NO_LAUNCH, "traffic")
        return None
    found = survey(machine)
    if found is None:
        return None
    traffic = found.traffic
    if traffic.read_bytes is not None:
        origin = "its addresses and masks evaluated for every program of the grid"
        provenance.known(f"{parsed.source.stage}, {origin}", "traffic")
    if traffic.load_sectors is not None or traffic.store_sectors is not None:
        origin = "the same, with the layouts of the ttgir and the machine code's widths"
        provenance.known(origin, "traffic.load_sectors", "traffic.store_sectors")
    if traffic.reason:
        provenance.missing(traffic.reason, "traffic")
    elif reason := _why_no_sectors(machine, traffic):
        unknown = (
            name for name in ("load", "store") if getattr(traffic, f"{name}_sectors") is None
        )
        provenance.missing(reason, *(f"traffic.{name}_sectors" for name in unknown))
    return found


def _why_no_sectors(machine: Machine, traffic: Traffic) -> str:
    """Return why accesses are not counted in sectors or lines; empty where they are."""
    gpu = machine.gpu
    if gpu is not None and gpu.arch.memory_granule is None:
        return f"no document gives the size of a cache line of {gpu.name}"
    return next((each.reason for each in traffic.accesses if each.reason), "")


def find_roofline(
    traffic: Traffic | None,
    gpu: Gpu | None,
    provenance: Provenance,
    products: Collection[MatrixProduct] = (),
) -> Roofline | None:
    """Return the roofline of a launch; ``None`` where its bytes or the GPU are unknown.

    Args:
        products: The kernel's products, as they are computed.
    """
    if traffic is None or gpu is None:
        return None  # "traffic" or "target" has the reason
    read, written = traffic.distinct_read_bytes, traffic.distinct_written_bytes
    tensor, vector = _operations(traffic)
    moved = None if read is None or written is None else read + written
    in_fp32 = {each.rate for each in products if _is_summed_in_fp32(each)}
    in_fp32 -= {each.rate for each in products if not _is_summed_in_fp32(each)}
    result = roofline(gpu, moved, tensor, vector, cast(set[Dtype], in_fp32))
    if moved and traffic.flops is not None:
        per_byte = sum(traffic.flops.values()) / moved
        result = msgspec.structs.replace(result, flops_per_byte=per_byte)
    if result.reason and not traffic.reason:
        provenance.missing(result.reason, "roofline")
    if result.memory_us is not None or result.compute_us is not None:
        provenance.known(f"traffic, at the theoretical peaks of {gpu.name}", "roofline")
    return result


def survey(
    machine: Machine,
    *,
    first: int | None = None,
    wave: int | None = None,
    numbers: "Numbers | None" = None,
) -> "Survey | None":
    """Return what a launch moves; ``None`` where there is no launch.

    Args:
        first: How many programs run, if not all.
        wave: How many neighbouring CTAs share what they read, if not those of a wave.
        numbers: What integers are that addresses depend on, where data are taken to be as for most
            programs, for an estimate of the time; by default nothing is assumed.

    Raises:
        ArtifactError: A file with a tensor's contents is gone or unreadable.
    """
    capture, source = machine.parsed.code.capture, machine.parsed.source
    if source is None or capture.config.grid is None:
        return None
    # Most captures have no launch, and need no numpy.
    load_numpy()
    from irlens.analyze import traffic
    from irlens.analyze.traffic.values import UnknownTrafficError

    contents = {name: npy.read(stage) for name, stage in capture.contents.items()}
    granule = machine.gpu.arch.memory_granule if machine.gpu is not None else None
    try:
        return traffic.survey(
            source,
            capture.config.args,
            capture.config.grid,
            granules=traffic.Granules(_DRAM_GRANULE, granule or _DRAM_GRANULE),
            issued=machine.issued,
            wave=(wave or machine.wave) if first is None else None,
            contents=contents,
            products=machine.products,
            first=first,
            numbers=numbers,
        )
    except UnknownTrafficError as error:
        return traffic.Survey(Traffic(reason=str(error)))
    except _EVALUATION_ERRORS as error:
        reason = f"the {source.stage} cannot be evaluated: {type(error).__name__}"
        return traffic.Survey(Traffic(reason=reason))


def _is_summed_in_fp32(product: MatrixProduct) -> bool:
    """Whether a product is of types whose rates are published for sums in fp32, and has these."""
    return product.sums == "fp32" and product.computed in _SUMMED


def _operations(traffic: Traffic) -> tuple[dict[Dtype, int] | None, dict[Dtype, int] | None]:
    """Return the operations of tensor cores and of all other units, by type."""
    if traffic.flops is None or traffic.tensor_flops is None:
        return None, None
    tensor = traffic.tensor_flops
    vector = {name: number - tensor.get(name, 0) for name, number in traffic.flops.items()}
    multiplied = tensor if traffic.multiplied_flops is None else traffic.multiplied_flops
    return cast(dict[Dtype, int], multiplied), cast(dict[Dtype, int], vector)


#: How many threads OpenBLAS starts. It reads the variable once, when it is loaded.
_VARIABLE = "OPENBLAS_NUM_THREADS"
#: Bytes of address space that NumPy and OpenBLAS with one thread take.
_ROOM = 96 << 20


def load_numpy() -> None:
    """Import NumPy; irlens evaluates addresses with it, and no linear algebra.

    NumPy's OpenBLAS starts a thread for each further processor, and each takes memory and polls for
    work for tens of milliseconds: more than the rest of the import takes. Where memory is short,
    OpenBLAS ends the process. Results do not depend on it, and child processes inherit nothing.

    Raises:
        MemoryError: There is not enough address space.
    """
    if "numpy" in sys.modules:
        return
    try:
        mmap.mmap(-1, _ROOM).close()
    except OSError as error:
        raise MemoryError from error
    if _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]
