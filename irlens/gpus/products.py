"""GPUs by the names people use.

A product adds the vendor's figures to its architecture: the number of units, the memory's speed,
the clock. A variant with other numbers has its own row.

Each figure is in the public document that its row names; where documents disagree without
resolution, the figure is ``None``. Driver names come from NVIDIA's list of compatible GPUs (README
of open-gpu-kernel-modules) and libdrm's ``amdgpu.ids``; for GPUs missing from NVIDIA's list, from
logs and the lists of cloud providers.
"""

from irlens.gpus.gpu import Product

#: Capacity of the L2 in MiB, and its source; a product that is missing has no document for it.
_L2: dict[str, tuple[float, str]] = {
    "v100": (6, "NVIDIA, 'Tesla V100 GPU Architecture'"),
    "t4": (4, "NVIDIA, 'Turing GPU Architecture'"),
    "rtx2080ti": (5.5, "NVIDIA, 'Turing GPU Architecture'"),
    **dict.fromkeys(
        ("a100", "a100-80gb", "a100-80gb-pcie"),
        (40, "NVIDIA, 'A100 Tensor Core GPU Architecture'"),
    ),
    **dict.fromkeys(
        ("a10", "a10g", "rtx-a6000", "rtx3090"),
        (6, "NVIDIA, 'Ampere GA102 GPU Architecture': 512 KB for each 32 bits of memory bus"),
    ),
    "rtx3080": (5, "NVIDIA, 'Ampere GA102 GPU Architecture'"),
    "l4": (48, "NVIDIA, 'Ada GPU Architecture', AD104"),
    **dict.fromkeys(
        ("l40", "l40s", "rtx6000-ada"), (96, "NVIDIA, 'Ada GPU Architecture', full AD102")
    ),
    "rtx4080": (64, "NVIDIA, 'Ada GPU Architecture'"),
    "rtx4090": (72, "NVIDIA, 'Ada GPU Architecture'; nvbench, pull request 207 (the driver's)"),
    "h100": (50, "a device's own driver"),
    **dict.fromkeys(
        ("h100-pcie", "h100-nvl", "h200"), (50, "NVIDIA, 'H100 Tensor Core GPU Architecture'")
    ),
    "b200": (126.5, "pytorch/ao, pull request 4002 (the driver's)"),
    "rtx5080": (64, "NVIDIA, 'RTX Blackwell GPU Architecture'"),
    "rtx5090": (96, "NVIDIA, 'RTX Blackwell GPU Architecture'"),
    **dict.fromkeys(
        ("mi100", "mi210", "mi250x"), (8, "ROCm documentation, 'AMD GPU specifications', per die")
    ),
    "mi300a": (24, "ROCm documentation, 'AMD GPU specifications': 4 MiB for each XCD"),
    **dict.fromkeys(
        ("mi300x", "mi325x", "mi350x", "mi355x"),
        (32, "ROCm documentation, 'AMD GPU specifications': 4 MiB for each XCD"),
    ),
}
# GeForce cards accumulate products in fp32 at half the rate of fp16 (NVIDIA, 'Turing', 'Ampere
# GA102', 'Ada' and 'RTX Blackwell GPU Architecture').
_HALF_RATE = {"rtx2080ti", "rtx3080", "rtx3090", "rtx4080", "rtx4090", "rtx5080", "rtx5090"}

# Of 181 and 362 dense TFLOP/s of fp16, each is in some document.
_DISPUTED_TENSOR_RATES = {"l40"}


def _row(
    name: str,
    title: str,
    arch: str,
    units: int | None,
    gigabytes_per_second: float | None,
    megahertz: float | None,
    source: str,
    drivers: tuple[str, ...] | None = None,
    *,
    nanoseconds: float | None = None,
) -> Product:
    """Return a row from the vendor's units; drivers report the title by default.

    ``nanoseconds`` is the memory's latency, where it was measured.
    """
    l2, l2_source = _L2.get(name, (None, ""))
    return Product(
        name=name,
        title=title,
        arch=arch,
        units=units,
        bandwidth=None if gigabytes_per_second is None else gigabytes_per_second * 1e9,
        latency=None if nanoseconds is None else nanoseconds * 1e-9,
        memory=_MEMORY[name] << 30 if name in _MEMORY else None,
        clock=None if megahertz is None else megahertz * 1e6,
        drivers=(title,) if drivers is None else drivers,
        source=source,
        l2_bytes=None if l2 is None else round(l2 * (1 << 20)),
        l2_source=l2_source,
        half_rate_fp32_accumulation=name in _HALF_RATE,
        tensor_rates_known=name not in _DISPUTED_TENSOR_RATES,
    )


# The table gives the bandwidth, and a peak FP32 rate: units times clock times FLOPs of an SM or CU.
_TABLE = "FluidX3D, README, table 'Single-GPU/CPU Benchmark'"
_REST = f"the rest: {_TABLE}"
_QUERY = "public outputs of CUDA's deviceQuery"
_T4 = f"{_QUERY}: 5,001 MHz x 256 bit, where FluidX3D's table has 300 GB/s"
_A6000 = f"{_QUERY}; bandwidth: {_TABLE}"
_A10G = "units: PyTorch's device properties in public logs; bandwidth: baseten.co, 'A10 vs A10G'"
_RTX3090 = (
    "units: fudzilla.net, 10,496 CUDA cores, 128 to an SM; clock: hardwaredb.net; "
    f"bandwidth: {_TABLE}"
)
_RTX3080 = f"{_TABLE}, 'GeForce RTX 3080 10GB'"
_RTX4080 = f"units, clock: neowin.net; bandwidth: {_TABLE}, 717 GB/s"
_RTX6000 = f"{_TABLE}; clock: cputronic.com"
_H100 = f"units, clock: a device's own driver; bandwidth: {_TABLE}"
_H100_PCIE = f"units, clock: Triton, third_party/proton, specs.py; bandwidth: {_TABLE}"
_H100_NVL = f"units, clock: MT4G, sample_results (the driver's); bandwidth: {_TABLE}"
_H200 = (
    f"units, clock: a device's own driver; bandwidth: {_TABLE}; "
    "latency: benchmarks/memory_latency.cu on a device, 350 to 353 ns over 512 MiB to 4 GiB"
)
_GH200 = f"units: public output of OpenCL-Benchmark (the driver's); bandwidth: {_TABLE}"
_B200 = (
    f"{_TABLE}; bandwidth: docs.vultr.com too, 8.0 TB/s; "
    "NVIDIA's 75 TFLOP/s of FP32 make the clock (HGX B200 data sheet)"
)
_RTX5090 = f"{_TABLE}; clock: Linux Format, May 2025"
_GB10 = "public guides to the DGX Spark: 6,144 CUDA cores (128 to an SM), 273 GB/s"
_ROCM = f"units: ROCm documentation, 'AMD GPU specifications'; {_REST}"
_MI250X = (
    "units: ROCm documentation, 'AMD GPU specifications', 110 per GCD; clock, bandwidth: its "
    f"'MI250 microarchitecture', and {_TABLE} for one die of the MI250"
)
_MI300A = (
    "units, clock: MT4G, sample_results (the driver's); bandwidth: PyTorch, "
    "_inductor/analysis/device_info.py, from AMD's data sheet"
)
_MI325X = (
    "units: ROCm documentation, 'AMD GPU specifications'; bandwidth and 163.4 TFLOP/s of FP32, "
    "which make the clock: awesomeagents.ai"
)
_MI350X = (
    "units: ROCm documentation, 'AMD GPU specifications'; clock: wccftech.com, from Hot Chips "
    "2025; bandwidth: PyTorch, _inductor/analysis/device_info.py, from AMD's brochure"
)
_RX9060XT = (
    "units: ROCm documentation, 'AMD GPU specifications'; bandwidth: techpowerup.com, review; "
    "clock: tweaktown.com, AMD's announcement"
)

_V100_DRIVERS = ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB")
_A100_DRIVERS = ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB")
_GH200_DRIVERS = ("NVIDIA GH200 480GB",)
_MI250X_DIE = "AMD Instinct MI250X, one of two dies"

#: Sizes of the memory in GB by the same table; the B200's by its name there. A product with several
#: sizes has none.
_MEMORY = {
    "rtx2080ti": 11, "a100": 40, "a100-80gb": 80, "a100-80gb-pcie": 80, "a10": 24, "rtx-a6000": 48,
    "rtx3080": 10, "rtx3090": 24, "l4": 24, "l40": 48, "l40s": 48, "rtx6000-ada": 48, "rtx4080": 16,
    "rtx4090": 24, "h100": 80, "h100-pcie": 80, "h100-nvl": 94, "h200": 141, "b200": 180,
    "rtx5080": 16, "rtx5090": 32, "mi100": 32, "mi210": 64, "mi250x": 64, "mi300x": 192,
    "mi355x": 288, "rx7600": 8, "rx7800xt": 16, "rx7900xt": 20, "rx7900xtx": 24, "rx9060xt": 16,
    "rx9070": 16, "rx9070xt": 16,
}  # fmt: skip

PRODUCTS: tuple[Product, ...] = (
    # name, the vendor's title, architecture, SMs, GB/s, boost MHz, source, drivers' names
    _row("v100", "Tesla V100 SXM2", "sm_70", 80, 900, 1530, _TABLE, _V100_DRIVERS),
    _row("t4", "Tesla T4", "sm_75", 40, 320, 1590, _T4),
    _row("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", "sm_75", 68, 616, 1545, _TABLE),
    _row("a100", "NVIDIA A100 40GB", "sm_80", 108, 1555, 1410, _TABLE, _A100_DRIVERS),
    _row("a100-80gb", "NVIDIA A100-SXM4-80GB", "sm_80", 108, 2039, 1410, _TABLE),
    _row("a100-80gb-pcie", "NVIDIA A100 80GB PCIe", "sm_80", 108, 1935, 1410, _TABLE),
    _row("a10", "NVIDIA A10", "sm_86", 72, 600, 1695, _TABLE),
    _row("a10g", "NVIDIA A10G", "sm_86", 80, 600, None, _A10G),
    _row("rtx-a6000", "NVIDIA RTX A6000", "sm_86", 84, 768, 1800, _A6000),
    # Drivers name the card of 12 GB, which has 70 SMs and 912 GB/s, just the same.
    _row("rtx3080", "NVIDIA GeForce RTX 3080 (10 GB)", "sm_86", 68, 760, 1710, _RTX3080, ()),
    _row("rtx3090", "NVIDIA GeForce RTX 3090", "sm_86", 82, 936, 1695, _RTX3090),
    _row("l4", "NVIDIA L4", "sm_89", 58, 300, 2040, _TABLE),
    _row("l40", "NVIDIA L40", "sm_89", 142, 864, 2490, _TABLE),
    _row("l40s", "NVIDIA L40S", "sm_89", 142, 864, 2520, _TABLE),
    _row("rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 960, 2505, _RTX6000),
    _row("rtx4080", "NVIDIA GeForce RTX 4080", "sm_89", 76, 716.8, 2505, _RTX4080),
    _row("rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 1008, 2520, _TABLE),
    _row("h100", "NVIDIA H100 SXM", "sm_90", 132, 3350, 1980, _H100, ("NVIDIA H100 80GB HBM3",)),
    _row("h100-pcie", "NVIDIA H100 PCIe", "sm_90", 114, 2000, 1755, _H100_PCIE),
    _row("h100-nvl", "NVIDIA H100 NVL", "sm_90", 132, 3938, 1785, _H100_NVL),
    _row("h200", "NVIDIA H200", "sm_90", 132, 4800, 1980, _H200, nanoseconds=352),
    _row("gh200", "NVIDIA GH200 (96 GB HBM3)", "sm_90", 132, 4000, None, _GH200, _GH200_DRIVERS),
    _row("b200", "NVIDIA B200", "sm_100", 148, 8000, 1980, _B200),
    _row("rtx5080", "NVIDIA GeForce RTX 5080", "sm_120", 84, 960, 2620, _TABLE),
    _row("rtx5090", "NVIDIA GeForce RTX 5090", "sm_120", 170, 1792, 2407, _RTX5090),
    _row("gb10", "NVIDIA GB10", "sm_121", 48, 273, None, _GB10),
    # The same for AMD, in compute units.
    _row("mi100", "AMD Instinct MI100", "gfx908", 120, 1228.8, 1502, _ROCM),
    _row("mi210", "AMD Instinct MI210", "gfx90a", 104, 1638.4, 1700, _ROCM),
    # The card holds two dies, and each is a device of its own to a program: half of the card's
    # 220 compute units and half of its 3,276.8 GB/s.
    _row("mi250x", _MI250X_DIE, "gfx90a", 110, 1638.4, 1700, _MI250X, ("AMD Instinct MI250X",)),
    _row("mi300a", "AMD Instinct MI300A", "gfx942", 228, 5300, 2100, _MI300A),
    _row("mi300x", "AMD Instinct MI300X", "gfx942", 304, 5300, 2100, _ROCM),
    _row("mi325x", "AMD Instinct MI325X", "gfx942", 304, 6000, 2100, _MI325X),
    _row("mi350x", "AMD Instinct MI350X", "gfx950", 256, 8000, 2200, _MI350X),
    _row("mi355x", "AMD Instinct MI355X", "gfx950", 256, 8000, 2400, _ROCM),
    _row("rx7600", "AMD Radeon RX 7600", "gfx1102", 32, 288, 2655, _ROCM),
    _row("rx7800xt", "AMD Radeon RX 7800 XT", "gfx1101", 60, 624, 2430, _ROCM),
    _row("rx7900xt", "AMD Radeon RX 7900 XT", "gfx1100", 84, 800, 2400, _ROCM),
    _row("rx7900xtx", "AMD Radeon RX 7900 XTX", "gfx1100", 96, 960, 2500, _ROCM),
    _row("rx9060xt", "AMD Radeon RX 9060 XT", "gfx1200", 32, 320, 3130, _RX9060XT),
    _row("rx9070", "AMD Radeon RX 9070", "gfx1201", 56, 640, 2520, _ROCM),
    _row("rx9070xt", "AMD Radeon RX 9070 XT", "gfx1201", 64, 640, 2970, _ROCM),
)

#: Architectures of NVIDIA's GPUs that Triton does not compile for, by normalized name
#: (developer.nvidia.com/cuda-legacy-gpus).
OLDER_THAN_TRITON = {
    **dict.fromkeys(("k40", "k80"), "sm_37"),
    **dict.fromkeys(("m4", "m40", "m60", "gtx980", "gtx970"), "sm_52"),
    "p100": "sm_60",
    **dict.fromkeys(("p4", "p40", "gtx1060", "gtx1070", "gtx1080", "gtx1080ti"), "sm_61"),
}
