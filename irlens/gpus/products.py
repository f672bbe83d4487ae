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
        ("a10", "a10g", "a40", "rtx-a6000", "rtx3090", "rtx3090ti"),
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
    "h200": (60, "a device's own driver, 580.159.04"),
    **dict.fromkeys(("h100-pcie", "h100-nvl"), (50, "NVIDIA, 'H100 Tensor Core GPU Architecture'")),
    "b200": (126.5, "pytorch/ao, pull request 4002 (the driver's)"),
    "rtx5080": (64, "NVIDIA, 'RTX Blackwell GPU Architecture'"),
    "rtx5090": (96, "NVIDIA, 'RTX Blackwell GPU Architecture'"),
    **dict.fromkeys(
        ("mi100", "mi210", "mi250x"), (8, "ROCm documentation, 'AMD GPU specifications', per die")
    ),
    "a30": (24, "sysrqmts.com, 'NVIDIA A30 PCIe'"),
    "l20": (96, "topcpu.net, 'NVIDIA A40 PCIe vs NVIDIA L20'"),
    "h20": (60, "ke60.top, 'NVIDIA H20'"),
    "h200-nvl": (60, "NVIDIA, 'H100 Tensor Core GPU Architecture': GH100 with all six stacks"),
    "rtx-pro-6000": (128, "NVIDIA, 'RTX Blackwell GPU Architecture', GB202"),
    "mi300a": (24, "ROCm documentation, 'AMD GPU specifications': 4 MiB for each XCD"),
    **dict.fromkeys(
        ("mi300x", "mi325x", "mi350x", "mi355x"),
        (32, "ROCm documentation, 'AMD GPU specifications': 4 MiB for each XCD"),
    ),
}
# GeForce cards accumulate products in fp32 at half the rate of fp16 (NVIDIA, 'Turing', 'Ampere
# GA102', 'Ada' and 'RTX Blackwell GPU Architecture').
_HALF_RATE = {
    "rtx2080ti", "rtx3060", "rtx3060ti", "rtx3070", "rtx3070ti", "rtx3080", "rtx3090", "rtx3090ti",
    "rtx4060", "rtx4070", "rtx4070-super", "rtx4070ti-super", "rtx4080", "rtx4080-super", "rtx4090",
    "rtx5070", "rtx5080", "rtx5090",
}  # fmt: skip

# The L40: of 181 and 362 dense TFLOP/s of fp16, each is in some document. The others were made for
# export, with slower tensor cores: 148 (H20) and 119.5 (L20) in place of 600 and 237.
_DISPUTED_TENSOR_RATES = {"l40", "h20", "l20"}

# Made for export, with a fraction of the H100's fp64.
_SLOW_FP64 = {"h800", "h20"}


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
        fp64_rates_known=name not in _SLOW_FP64,
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
_UNITS = f"units: its FP32 rate there is a whole number of MHz; {_TABLE}"
_SPECS = "LLM-Prof, hardware_spec.md"
_H20 = f"units: zangshuxian.com, from Geekbench; bandwidth: ke60.top, and {_SPECS} (4,022)"
_H800 = f"fp16, bandwidth: {_SPECS}, those of the H100 SXM, whose units and clock it has"
_A800 = f"fp16, bandwidth: {_SPECS}, those of the A100-SXM4-80GB, whose units and clock it has"
_L20 = "topcpu.net, 'NVIDIA A40 PCIe vs NVIDIA L20'"
_GB200 = "units: public documents of device properties (152 SMs); bandwidth: as the B200's"
_B300 = f"units: public documents of device properties; {_TABLE}, 'B300 SXM6 AC'"
_GB300 = (
    "units: FlashInfer, its documents of benchmarks (sm_103a, 152 SMs); bandwidth: NVIDIA, 'Inside "
    "NVIDIA Blackwell Ultra'"
)
_PRO6000 = f"units: NVIDIA, 'RTX Blackwell PRO GPU Architecture'; {_TABLE}"
_MI308X = (
    "units: public documents of its device properties; sources disagree about the bandwidth (4.0 "
    "and 5.3 TB/s) and the clock"
)
_STRIX_HALO = (
    "units, clock, bandwidth: svethardware.cz, AMD's announcement; "
    f"{_TABLE}, 'Radeon 8060S (Max+ 395)'"
)
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
_PRO_TITLE = "NVIDIA RTX PRO 6000 Blackwell"
_PRO_DRIVERS = (
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
)
_HALO_DRIVERS = ("AMD Radeon 8060S", "AMD Radeon 8060S Graphics", "Radeon 8060S Graphics")
_MI250_DIE = "AMD Instinct MI250, one of two dies"
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
    "a30": 24, "a40": 48, "rtx-a4000": 16, "rtx-a5000": 24, "rtx3060": 12, "rtx3060ti": 8,
    "rtx3070": 8, "rtx3070ti": 8, "rtx3090ti": 24, "a16": 16, "a800": 80, "l20": 48,
    "rtx4000-ada": 20, "rtx4060": 8, "rtx4070": 12, "rtx4070-super": 12, "rtx4070ti-super": 16,
    "rtx4080-super": 16, "h800": 80, "h200-nvl": 141, "rtx5070": 12, "rtx-pro-6000": 96,
    "mi250": 64, "w7900": 48, "w7800": 32, "r9700": 32, "mi308x": 192,
}  # fmt: skip

PRODUCTS: tuple[Product, ...] = (
    # name, the vendor's title, architecture, SMs, GB/s, boost MHz, source, drivers' names
    _row("v100", "Tesla V100 SXM2", "sm_70", 80, 900, 1530, _TABLE, _V100_DRIVERS),
    _row("t4", "Tesla T4", "sm_75", 40, 320, 1590, _T4),
    _row("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", "sm_75", 68, 616, 1545, _TABLE),
    _row("a100", "NVIDIA A100 40GB", "sm_80", 108, 1555, 1410, _TABLE, _A100_DRIVERS),
    _row("a100-80gb", "NVIDIA A100-SXM4-80GB", "sm_80", 108, 2039, 1410, _TABLE),
    _row("a100-80gb-pcie", "NVIDIA A100 80GB PCIe", "sm_80", 108, 1935, 1410, _TABLE),
    _row("a800", "NVIDIA A800-SXM4-80GB", "sm_80", 108, 2039, 1410, _A800),
    _row("a30", "NVIDIA A30", "sm_80", 56, 933, 1440, _UNITS),
    _row("a10", "NVIDIA A10", "sm_86", 72, 600, 1695, _TABLE),
    _row("a10g", "NVIDIA A10G", "sm_86", 80, 600, None, _A10G),
    # The card holds four GPUs.
    _row("a16", "NVIDIA A16, one of four GPUs", "sm_86", 10, 200, 1755, _UNITS, ("NVIDIA A16",)),
    _row("a2", "NVIDIA A2", "sm_86", 10, 200, 1770, _UNITS),
    _row("a40", "NVIDIA A40", "sm_86", 84, 696, 1740, _UNITS),
    _row("rtx-a4000", "NVIDIA RTX A4000", "sm_86", 48, 448, 1560, _UNITS),
    _row("rtx-a5000", "NVIDIA RTX A5000", "sm_86", 64, 768, 1695, _UNITS),
    _row("rtx-a6000", "NVIDIA RTX A6000", "sm_86", 84, 768, 1800, _A6000),
    # Drivers name the card of 12 GB, which has 70 SMs and 912 GB/s, just the same.
    _row("rtx3080", "NVIDIA GeForce RTX 3080 (10 GB)", "sm_86", 68, 760, 1710, _RTX3080, ()),
    _row("rtx3090", "NVIDIA GeForce RTX 3090", "sm_86", 82, 936, 1695, _RTX3090),
    _row("rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", "sm_86", 84, 1008, 1860, _UNITS),
    _row("rtx3060", "NVIDIA GeForce RTX 3060", "sm_86", 28, 360, 1837, _UNITS),
    _row("rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", "sm_86", 38, 448, 1695, _UNITS),
    _row("rtx3070", "NVIDIA GeForce RTX 3070", "sm_86", 46, 448, 1725, _UNITS),
    _row("rtx3070ti", "NVIDIA GeForce RTX 3070 Ti", "sm_86", 48, 608, 1770, _UNITS),
    _row("l4", "NVIDIA L4", "sm_89", 58, 300, 2040, _TABLE),
    _row("l20", "NVIDIA L20", "sm_89", 92, 864, 2520, _L20),
    _row("l40", "NVIDIA L40", "sm_89", 142, 864, 2490, _TABLE),
    _row("l40s", "NVIDIA L40S", "sm_89", 142, 864, 2520, _TABLE),
    _row("rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 960, 2505, _RTX6000),
    _row("rtx4000-ada", "NVIDIA RTX 4000 Ada Generation", "sm_89", 48, 360, 2175, _UNITS),
    _row("rtx4060", "NVIDIA GeForce RTX 4060", "sm_89", 24, 272, 2460, _UNITS),
    _row("rtx4070", "NVIDIA GeForce RTX 4070", "sm_89", 46, 504, 2475, _UNITS),
    _row("rtx4070-super", "NVIDIA GeForce RTX 4070 SUPER", "sm_89", 56, 504, 2480, _UNITS),
    _row("rtx4070ti-super", "NVIDIA GeForce RTX 4070 Ti SUPER", "sm_89", 66, 672, 2610, _UNITS),
    _row("rtx4080-super", "NVIDIA GeForce RTX 4080 SUPER", "sm_89", 80, 736, 2550, _UNITS),
    _row("rtx4080", "NVIDIA GeForce RTX 4080", "sm_89", 76, 716.8, 2505, _RTX4080),
    _row("rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 1008, 2520, _TABLE),
    _row("h100", "NVIDIA H100 SXM", "sm_90", 132, 3350, 1980, _H100, ("NVIDIA H100 80GB HBM3",)),
    _row("h100-pcie", "NVIDIA H100 PCIe", "sm_90", 114, 2000, 1755, _H100_PCIE),
    _row("h100-nvl", "NVIDIA H100 NVL", "sm_90", 132, 3938, 1785, _H100_NVL),
    _row("h800", "NVIDIA H800", "sm_90", 132, 3350, 1980, _H800),
    # Its tensor cores are slower than its clock says, and documents of FP32 contradict the clock.
    _row("h20", "NVIDIA H20", "sm_90", 78, 4000, None, _H20),
    _row("h200", "NVIDIA H200", "sm_90", 132, 4800, 1980, _H200, nanoseconds=352),
    _row("h200-nvl", "NVIDIA H200 NVL", "sm_90", 132, 4800, 1785, _UNITS),
    _row("gh200", "NVIDIA GH200 (96 GB HBM3)", "sm_90", 132, 4000, None, _GH200, _GH200_DRIVERS),
    _row("b200", "NVIDIA B200", "sm_100", 148, 8000, 1980, _B200),
    _row("gb200", "NVIDIA GB200", "sm_100", 152, 8000, None, _GB200),
    _row("b300", "NVIDIA B300 SXM6 AC", "sm_103", 148, 8000, 2032, _B300),
    _row("gb300", "NVIDIA GB300", "sm_103", 152, 8000, None, _GB300),
    _row("rtx-pro-6000", _PRO_TITLE, "sm_120", 188, 1792, 2617, _PRO6000, _PRO_DRIVERS),
    _row("rtx5070", "NVIDIA GeForce RTX 5070", "sm_120", 48, 672, 2510, _UNITS),
    _row("rtx5080", "NVIDIA GeForce RTX 5080", "sm_120", 84, 960, 2620, _TABLE),
    _row("rtx5090", "NVIDIA GeForce RTX 5090", "sm_120", 170, 1792, 2407, _RTX5090),
    _row("gb10", "NVIDIA GB10", "sm_121", 48, 273, None, _GB10),
    # The same for AMD, in compute units.
    _row("mi100", "AMD Instinct MI100", "gfx908", 120, 1228.8, 1502, _ROCM),
    _row("mi210", "AMD Instinct MI210", "gfx90a", 104, 1638.4, 1700, _ROCM),
    _row("mi250", _MI250_DIE, "gfx90a", 104, 1638.4, 1700, _UNITS, ("AMD Instinct MI250",)),
    # The card holds two dies, and each is a device of its own to a program: half of the card's
    # 220 compute units and half of its 3,276.8 GB/s.
    _row("mi250x", _MI250X_DIE, "gfx90a", 110, 1638.4, 1700, _MI250X, ("AMD Instinct MI250X",)),
    _row("mi300a", "AMD Instinct MI300A", "gfx942", 228, 5300, 2100, _MI300A),
    _row("mi300x", "AMD Instinct MI300X", "gfx942", 304, 5300, 2100, _ROCM),
    _row("mi308x", "AMD Instinct MI308X", "gfx942", 80, None, None, _MI308X),
    _row("mi325x", "AMD Instinct MI325X", "gfx942", 304, 6000, 2100, _MI325X),
    _row("mi350x", "AMD Instinct MI350X", "gfx950", 256, 8000, 2200, _MI350X),
    _row("mi355x", "AMD Instinct MI355X", "gfx950", 256, 8000, 2400, _ROCM),
    _row("rx7600", "AMD Radeon RX 7600", "gfx1102", 32, 288, 2655, _ROCM),
    _row("rx7800xt", "AMD Radeon RX 7800 XT", "gfx1101", 60, 624, 2430, _ROCM),
    _row("rx7900xt", "AMD Radeon RX 7900 XT", "gfx1100", 84, 800, 2400, _ROCM),
    _row("rx7900xtx", "AMD Radeon RX 7900 XTX", "gfx1100", 96, 960, 2500, _ROCM),
    _row("w7800", "AMD Radeon PRO W7800", "gfx1100", 70, 576, 2525, _UNITS),
    _row("w7900", "AMD Radeon PRO W7900", "gfx1100", 96, 864, 2495, _UNITS),
    # The GPU of the Ryzen AI Max+ 395, which shares the memory with the CPU.
    _row("strix-halo", "AMD Radeon 8060S", "gfx1151", 40, 256, 2900, _STRIX_HALO, _HALO_DRIVERS),
    _row("rx9060xt", "AMD Radeon RX 9060 XT", "gfx1200", 32, 320, 3130, _RX9060XT),
    _row("rx9070", "AMD Radeon RX 9070", "gfx1201", 56, 640, 2520, _ROCM),
    _row("rx9070xt", "AMD Radeon RX 9070 XT", "gfx1201", 64, 640, 2970, _ROCM),
    _row("r9700", "AMD Radeon AI PRO R9700", "gfx1201", 64, 640, 2920, _UNITS),
)

#: Further names that people use, and the row's.
ALIASES = {
    **dict.fromkeys(("v100-sxm2", "v100-sxm2-16gb", "v100-sxm2-32gb"), "v100"),
    **dict.fromkeys(("a100-40gb", "a100-sxm", "a100-pcie", "a100-sxm4", "a100-sxm4-40gb"), "a100"),
    "a100-sxm4-80gb": "a100-80gb",
    "a100-pcie-80gb": "a100-80gb-pcie",
    "a800-80gb": "a800",
    **dict.fromkeys(("a6000", "a6000-ampere"), "rtx-a6000"),
    "a4000": "rtx-a4000",
    "a5000": "rtx-a5000",
    **dict.fromkeys(("6000-ada", "rtx-6000-ada-generation", "rtx-ada-6000"), "rtx6000-ada"),
    **dict.fromkeys(
        ("h100-sxm", "h100-sxm5", "h100-80gb", "h100-sxm5-80gb", "h100-80gb-hbm3", "hgx-h100"),
        "h100",
    ),
    **dict.fromkeys(("h100-80gb-pcie", "h100-pcie-80gb"), "h100-pcie"),
    **dict.fromkeys(("h800-sxm", "h800-sxm5"), "h800"),
    **dict.fromkeys(("h20-96gb", "h20-sxm"), "h20"),
    **dict.fromkeys(("h200-sxm", "h200-sxm5", "h200-141gb", "hgx-h200"), "h200"),
    **dict.fromkeys(("gh200-96gb", "grace-hopper"), "gh200"),
    **dict.fromkeys(("b200-sxm", "b200-sxm6", "hgx-b200", "dgx-b200"), "b200"),
    **dict.fromkeys(("gb200-nvl72", "grace-blackwell"), "gb200"),
    **dict.fromkeys(("b300-sxm", "b300-sxm6", "hgx-b300", "dgx-b300", "blackwell-ultra"), "b300"),
    "gb300-nvl72": "gb300",
    **dict.fromkeys(
        ("rtx-pro-6000-blackwell", "pro-6000", "rtx6000-pro", "rtx-pro-6000-max-q"), "rtx-pro-6000"
    ),
    **dict.fromkeys(("dgx-spark", "spark"), "gb10"),
    **dict.fromkeys(
        (
            "8060s", "ryzen-ai-max-395", "ai-max-395", "ai-max+-395", "max-395", "ryzen-ai-max",
            "ryzen-ai-max+-pro-395", "ryzen-ai-max+-395-w/-radeon-8060s", "ai-max", "rx8060s",
        ),
        "strix-halo",
    ),
    **dict.fromkeys(("pro-w7900",), "w7900"),
    **dict.fromkeys(("pro-w7800",), "w7800"),
    **dict.fromkeys(("ai-pro-r9700",), "r9700"),
}  # fmt: skip

#: Architectures of NVIDIA's GPUs that Triton does not compile for, by normalized name
#: (developer.nvidia.com/cuda-legacy-gpus).
OLDER_THAN_TRITON = {
    **dict.fromkeys(("k40", "k80"), "sm_37"),
    **dict.fromkeys(("m4", "m40", "m60", "gtx980", "gtx970"), "sm_52"),
    "p100": "sm_60",
    **dict.fromkeys(("p4", "p40", "gtx1060", "gtx1070", "gtx1080", "gtx1080ti"), "sm_61"),
}
