"""How long instructions and transfers take on a GPU, with the source of each number."""

import msgspec
from msgspec.structs import replace

from irlens.gpus.rates import Rates, require
from irlens.model.calibration import CONSTANTS, RANGE, Calibration

#: Bytes that memory delivers at once, of which ``Timing.pieces`` counts.
PIECE_BYTES = 64


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Latencies, rates and overheads that times are estimated with. Constructing a row checks it.

    Attributes:
        memory: Cycles from a load to its data from memory, on a busy GPU.
        l2: The same from the L2, which is also the round trip of a fence of the GPU.
        idle_memory: Cycles from a load to its data from memory that nothing else asks for data.
        idle_l2: The same from the L2.
        l1: The same from the L1.
        shared: The same from shared memory.
        special: Cycles to the result of a special function or a conversion.
        shuffle: Cycles to the result of an exchange between lanes.
        constant: Cycles to the result of a load from constant memory, or of a special register.
        barrier: Cycles that a barrier of a CTA costs beyond the wait for its last warp.
        bulk: Cycles that a bulk copy (TMA) takes beyond a load.
        source: Cycles until a store has read its operands.
        product: Cycles to the result of an asynchronous product, beyond those of the tensor cores.
        alu: Cycles for which a warp's integer instruction occupies its sub-partition's unit.
        fma: The same of a floating-point instruction.
        fp64: The same of one of fp64, which has a unit of its own.
        xu: The same of a special function.
        lsu: Cycles for which a warp's access occupies the SM's load and store unit.
        pipe_share: Part of the cycles for which the pipe can be busy that loads, stores, accesses
            to shared memory and shuffles share.
        port: Bytes a cycle between an SM and the L2.
        crossing: Bytes a second between the two halves of the L2, each of which is home to half of
            the data; ``None`` where it is unknown or there are no halves.
        l2_lookups: Lines a second that all of the L2's slices look up; ``None`` where unknown.
        l2_inputs: Cycles a second of the inputs of all of the L2's slices, each of which takes a
            sector to write, or a line of a request; ``None`` where unknown.
        l2_share: Part of the L2's capacity that CTAs find their data in; ``None`` where unknown.
        turning: By what part memory is faster where a launch only reads than where it reads and
            writes as much, since it turns from one to the other; ``None`` where unknown.
        pieces: Pieces of ``PIECE_BYTES`` a second that memory delivers where each is alone in its
            page; ``None`` where unknown.
        warp_products: Part of the tensor cores' rate that products of single warps reach.
        fp32_sums: Part of it that products reach whose sums are fp32.
        fp64_products: Multiply-adds of fp64 for each of fp16 that products do.
        tensor_clock: Clock in Hz under products of tensor cores; ``None`` for the peak clock.
        cta: Cycles between two CTAs that an SM receives.
        launch: Seconds that a launch takes besides its CTAs, caches cold.
        dram_share: Part of the memory's bandwidth that kernels reach.
        contention: What other CTAs on its SM add to a CTA's time, over what it takes alone.
        exponent: Of the norm that combines the times of units that work at the same time.
        low: The 5 % of kernels that are fastest take less than this times their estimate.
        high: The 5 % that are slowest take more than this times their estimate.
        ratio_error: How far the ratio of two configurations' estimates may be from that of their
            times: in nine of ten pairs the logarithms of both ratios differ by less than this
            times 1 + |ln(ratio of the estimates)|. What an estimate gets wrong about a kernel it
            gets wrong about all its configurations, so that this is less than ``high`` tells.
        measured: Whether estimates with these numbers were held against times of this GPU, and
            not only of a relative.
        sources: The source of each number, by field.

    Raises:
        ValueError: A number is implausible, or has no source.
    """

    memory: float
    l2: float
    idle_memory: float
    idle_l2: float
    l1: float
    shared: float
    special: float
    shuffle: float
    constant: float
    barrier: float
    bulk: float
    source: float
    product: float
    alu: float
    fma: float
    fp64: float
    xu: float
    lsu: float
    pipe_share: float
    port: float
    crossing: float | None
    l2_lookups: float | None
    l2_inputs: float | None
    l2_share: float | None
    turning: float | None
    pieces: float | None
    warp_products: float
    fp32_sums: float
    fp64_products: float
    tensor_clock: float | None
    cta: float
    launch: float
    dram_share: float
    port_share: float
    contention: float
    exponent: float
    low: float
    high: float
    ratio_error: float
    measured: bool
    sources: dict[str, str]

    def __post_init__(self) -> None:
        numbers = {
            field
            for field in self.__struct_fields__
            if isinstance(getattr(self, field), float) and field not in ("low", "high")
        }
        checks = {
            "a number is not positive": all(getattr(self, field) > 0 for field in numbers),
            "an efficiency is more than 1": self.dram_share <= 1
            and self.port_share <= 1
            and self.pipe_share <= 1
            and self.warp_products <= 1
            and self.fp32_sums <= 1
            and self.fp64_products <= 1,
            "memory is nearer than the L2": self.memory >= self.l2 >= self.l1,
            "the range does not hold the estimate": self.low < 1 < self.high,
            "a number has no source": set(self.sources) == numbers,
        }
        require(checks)

    def load_latency(self, memory_share: float, l1_share: float, *, queues: bool = True) -> float:
        """Return the mean number of cycles from a load to its data.

        Args:
            memory_share: Part of the data from beyond the L1 that memory delivers, 0..1.
            l1_share: Part of all data that the L1 delivers.
            queues: Whether L2 and memory are busy, so that loads wait in their queues.
        """
        memory = self.memory if queues else min(self.memory, self.idle_memory)
        l2 = self.l2 if queues else min(self.l2, self.idle_l2)
        beyond = l2 + (memory - l2) * memory_share
        return beyond + (self.l1 - beyond) * l1_share

    def local_latency(self, missed: float) -> float:
        """Return the mean number of cycles from a load of local memory to its data.

        What misses the L1 takes the latency of an idle L2, however busy it is: 36
        launches with local memory, timed on an H100, fit this better than the latency under load.

        Args:
            missed: Part of the loads that the L1 lacks, 0..1.
        """
        return self.l1 + (min(self.l2, self.idle_l2) - self.l1) * missed

    def queued(self, memory_share: float, memory_load: float, l2_load: float) -> float:
        """Return the part of the wait in the queues of a busy GPU that loads wait for, 0..1.

        Args:
            memory_share: Part of the data from beyond the L1 that memory delivers, 0..1.
            memory_load: How busy memory is, 0..1.
            l2_load: The same of the L2.
        """
        of_memory = memory_share * max(0.0, self.memory - self.idle_memory)
        of_l2 = (1 - memory_share) * max(0.0, self.l2 - self.idle_l2)
        both = of_memory + of_l2
        return (of_memory * memory_load + of_l2 * l2_load) / both if both else 1.0


_FIT = (
    "benchmarks/time_model.py: fitted to 635 launches on an H200, rounded where the fit is flat to "
    "what suits tests/data/h100/others.json"
)
_PIPES = "NVIDIA, 'CUDA C++ Programming Guide', throughput of native arithmetic instructions"
_PAPER = "Luo et al., 'Benchmarking and Dissecting the Nvidia Hopper GPU Architecture' (2024)"
_PATTERNS = "benchmarks/memory_patterns.py on an H200"
_SCHEDULE = "measured with dependent instructions by the papers below, rounded: " + _PAPER

#: The row of the GPU that the constants were fitted on.
H200 = Timing(
    memory=1050.0,
    l2=600.0,
    idle_memory=697.0,
    idle_l2=270.0,
    l1=35.0,
    shared=30.0,
    special=24.0,
    shuffle=24.0,
    constant=30.0,
    barrier=24.0,
    bulk=150.0,
    source=12.0,
    product=60.0,
    alu=2.0,
    fma=1.0,
    fp64=2.0,
    xu=8.0,
    lsu=1.0,
    pipe_share=0.9,
    port=64.0,
    crossing=None,
    l2_lookups=1.58e11,
    l2_inputs=1.46e11,
    l2_share=5 / 6,
    turning=0.105,
    pieces=3.73e10,
    warp_products=0.625,
    fp32_sums=1.0,
    fp64_products=1 / 16,
    tensor_clock=1.755e9,
    cta=160.0,
    launch=3.55e-6,
    dram_share=0.84,
    port_share=0.724,
    contention=0.4,
    exponent=4.71,
    low=0.78,
    high=1.35,
    ratio_error=0.2,
    measured=True,
    sources={
        **dict.fromkeys(
            ("l1", "shared", "special", "shuffle", "constant", "barrier", "source", "product"),
            _SCHEDULE,
        ),
        "idle_memory": "benchmarks/memory_latency.cu on an H200: 352 ns at 1.98 GHz",
        "idle_l2": "benchmarks/time_fences.cu: the round trip of a fence on an idle H200",
        "bulk": _PAPER,
        **dict.fromkeys(("alu", "fma", "xu", "lsu"), _PIPES),
        "pipe_share": "l1tex__data_pipe_lsu_wavefronts of an H200's launches that keep it busy: "
        "sorting rows, sums over shared memory and pooling take 90 to 92 % of its cycles",
        "port": "NVIDIA, 'H100 Tensor Core GPU Architecture': 64 bytes a clock and SM",
        "l2_lookups": f"{_PATTERNS}: lanes_again takes 159 µs more for 25.2 million lines more",
        "l2_inputs": f"{_PATTERNS}: store takes 217 µs more for 31.5 million cycles more, in which"
        " lts__xbar2lts_cycles_active has 4.0 for a line that is written whole, 5.0 in part",
        "l2_share": f"{_PATTERNS}: what SMs read again comes from memory in part from 48 MB on, "
        "and all of it from 56 MB, as from an L2 of 50 MiB; and dram__bytes_read.sum of 217 "
        "launches",
        "turning": f"{_PATTERNS}: it reads 4.38 to 4.57 TB/s, copies 4.08, and moves 3.87 where it "
        "writes three times what it reads",
        "pieces": f"{_PATTERNS}: lanes takes 112.5 µs and a launch for 4.19 million words that lie "
        "1 KB apart",
        "warp_products": _PAPER,
        "fp64": "NVIDIA, 'H100 Tensor Core GPU Architecture': 64 units of fp64 to an SM",
        "fp64_products": "NVIDIA, 'H100 Tensor Core GPU Architecture', table of peaks",
        "fp32_sums": "NVIDIA, 'H100 Tensor Core GPU Architecture': one rate for both sums of fp16",
        "tensor_clock": "sm__cycles_elapsed over gpu__time_duration of the products in "
        "tests/data/h200/time: median",
        "cta": "launches of 262,144 CTAs in tests/data/h200/time: 160 µs whatever they do",
        **dict.fromkeys(
            ("memory", "l2", "dram_share", "port_share", "contention", "exponent"), _FIT
        ),
        "launch": "benchmarks/others_on_gpu.py: an empty kernel takes an H100 3.4 to 3.8 µs",
        "ratio_error": "benchmarks/time_model.py: pairs of configurations of one problem, of kinds "
        "of kernels that the constants were not fitted to",
    },
)

#: Fields that were measured on an H200 alone.
_H200_ALONE = ("l2_share", "turning", "pieces")
#: The H100 has as many SMs, and other memory. The constants hold on it as they are.
H100 = replace(
    H200,
    ratio_error=0.22,
    crossing=1.88e12,
    l2_lookups=1.37e11,
    l2_inputs=1.37e11,
    **dict.fromkeys(_H200_ALONE),
    sources={name: each for name, each in H200.sources.items() if name not in _H200_ALONE}
    | {
        name: f"{H200.sources[name]}; held against 600 launches on an H100"
        for name in (*CONSTANTS, "ratio_error")
    }
    | {
        "crossing": "lts__ltcfabric2ltc_cycles_active of an H100's launches that keep it busy for "
        "92 to 95 % of the time: spilled pointwise kernels, 1.75 TB/s",
        "l2_lookups": "lts__t_tag_requests of an H100: sums of columns keep its 80 slices busy for "
        "97 % of 511 µs with 67.1 million lines",
        "l2_inputs": "lts__xbar2lts_cycles_active of an H100: a copy of images from NCHW to NHWC "
        "keeps its 80 slices busy for 82 % of 66.5 µs with 7.47 million cycles",
    },
)

#: The rows of GPUs that were measured, by product.
_MEASURED = {"h200": H200, "h100": H100}

#: Architectures whose machine code irlens can time.
_RELATIVES = frozenset({"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})


#: Part of the tensor cores' rate that products of single warps reach, and its source, where warps
#: together are faster. On sm_100 it was not measured, but ptxas 13 issues a warp's products of
#: 16 x 8 x 16 every 8 cycles, as for the A100, which does 2,048 operations a clock and SM.
_WARP_PRODUCTS = {
    "sm_90": (H200.warp_products, H200.sources["warp_products"]),
    "sm_100": (0.25, "ptxas 13: 8 cycles between products of a warp, a quarter of tcgen05's rate"),
}

#: Factors that widen the range of a GPU like the measured one, and of another architecture.
_WIDER, _WIDER_ELSEWHERE = 1.15, 1.6


def timing_of(
    product: str, arch: str, rates: Rates | None, fp32_sums: float = 1.0
) -> Timing | None:
    """Return the timing of a product; ``None`` for an architecture that is not understood.

    A GPU that was not measured is taken to be like the H200, with floating-point units as fast as
    its own architecture's, and single warps' products at the full rate where there are no others.
    Products of fp64 run at the rate of vectors where the tensor cores have none of their own.
    Its range is wider, above all where its architecture is another.

    Args:
        fp32_sums: Rate of products that are summed up in fp32, over that of the others.
    """
    if product in _MEASURED or arch not in _RELATIVES or rates is None:
        return _MEASURED.get(product)
    grouped = arch == "sm_90"
    sources = dict(H200.sources)
    for name in ("l2_lookups", "l2_inputs", *_H200_ALONE):
        del sources[name]
    if not grouped:
        del sources["tensor_clock"]
    warp_products, sources["warp_products"] = _WARP_PRODUCTS.get(
        arch, (1.0, H200.sources["warp_products"])
    )
    sources["fp64_products"] = sources["fp64"] = rates.source
    if fp32_sums != 1.0:
        sources["fp32_sums"] = "NVIDIA, 'RTX Blackwell GPU Architecture', and those before it"
    wider = _WIDER if grouped else _WIDER_ELSEWHERE
    return replace(
        H200,
        low=H200.low / wider,
        high=H200.high * wider,
        ratio_error=H200.ratio_error * wider,
        l2_lookups=None,
        l2_inputs=None,
        **dict.fromkeys(_H200_ALONE),
        fma=32 * 4 * 2 / rates.vector["fp32"],
        fp64=32 * 4 * 2 / rates.vector["fp64"],
        warp_products=warp_products,
        fp32_sums=fp32_sums,
        fp64_products=(rates.tensor.get("fp64") or rates.vector["fp64"]) / rates.tensor["fp16"],
        tensor_clock=H200.tensor_clock if grouped else None,
        measured=False,
        sources=sources,
    )


def calibrated(timing: Timing, calibration: Calibration) -> Timing:
    """Return a product's timing with the constants of a calibration.

    Raises:
        ValueError: A constant is implausible.
    """
    source = f"irlens calibrate, on this GPU: fitted to {calibration.launches} launches"
    return replace(
        timing,
        **{name: getattr(calibration, name) for name in (*CONSTANTS, *RANGE)},
        measured=True,
        sources=timing.sources | dict.fromkeys((*CONSTANTS, "ratio_error"), source),
    )
