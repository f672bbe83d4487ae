"""GPUs by the names people use.

A product adds to its architecture what the vendor sells: the number of units, the memory's
speed, the clock. A variant with other numbers is a row of its own.
"""

from irlens.arch.record import Product


def _row(
    name: str,
    title: str,
    arch: str,
    units: int | None,
    gigabytes_per_second: float | None,
    megahertz: float | None,
    source: str,
    *drivers: str,
) -> Product:
    """Make a row from the units vendors state; drivers report the title unless told."""
    return Product(
        name=name,
        title=title,
        arch=arch,
        units=units,
        bandwidth=None if gigabytes_per_second is None else gigabytes_per_second * 1e9,
        clock=None if megahertz is None else megahertz * 1e6,
        drivers=drivers or (title,),
        source=source,
    )


_VOLTA = "NVIDIA Tesla V100 GPU Architecture whitepaper"
_TURING = "NVIDIA Turing GPU Architecture whitepaper"
_A100 = "NVIDIA A100 Tensor Core GPU Architecture whitepaper and A100 datasheet"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture whitepaper"
_ADA = "NVIDIA Ada GPU Architecture whitepaper"
_H100 = "NVIDIA H100 Tensor Core GPU Architecture whitepaper and H100 datasheet"
_H100_PCIE = "NVIDIA H100 Tensor Core GPU Architecture whitepaper and H100 PCIe product brief"
_H200 = "NVIDIA H200 datasheet (SXM); units and clock: a device's own driver"
_GH200 = "NVIDIA GH200 Grace Hopper Superchip datasheet; units: the driver's count"
_SPARK = "NVIDIA DGX Spark hardware overview: 6,144 CUDA cores, 128 to an SM"
_BLACKWELL = "NVIDIA RTX Blackwell GPU Architecture whitepaper"
_ROCM = "ROCm documentation, 'AMD GPU specifications'; memory and clock: AMD's product page"
_DRIVER = "units: the driver's multiprocessor count; bandwidth: "

_V100_DRIVERS = ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB")
_A100_DRIVERS = ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB")
_MI250X_DIE = "AMD Instinct MI250X, one of two dies"

PRODUCTS: tuple[Product, ...] = (
    # name, the vendor's title, architecture, SMs, GB/s, boost MHz, source, drivers' names
    _row("v100", "Tesla V100 SXM2", "sm_70", 80, 900, 1530, _VOLTA, *_V100_DRIVERS),
    _row("t4", "Tesla T4", "sm_75", 40, 320, 1590, _TURING),
    _row("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", "sm_75", 68, 616, 1545, _TURING),
    _row("a100", "NVIDIA A100 40GB", "sm_80", 108, 1555, 1410, _A100, *_A100_DRIVERS),
    _row("a100-80gb", "NVIDIA A100-SXM4-80GB", "sm_80", 108, 2039, 1410, _A100),
    _row("a100-80gb-pcie", "NVIDIA A100 80GB PCIe", "sm_80", 108, 1935, 1410, _A100),
    _row("a10", "NVIDIA A10", "sm_86", 72, 600, 1695, "NVIDIA A10 datasheet and product brief"),
    _row("a10g", "NVIDIA A10G", "sm_86", 80, 600, None, _DRIVER + "AWS, Amazon EC2 G5 instances"),
    _row("rtx-a6000", "NVIDIA RTX A6000", "sm_86", 84, 768, 1800, _GA102),
    _row("rtx3080", "NVIDIA GeForce RTX 3080", "sm_86", 68, 760, 1710, _GA102),
    _row("rtx3090", "NVIDIA GeForce RTX 3090", "sm_86", 82, 936, 1695, _GA102),
    _row("l4", "NVIDIA L4", "sm_89", 58, 300, 2040, "NVIDIA L4 datasheet and product brief"),
    _row("l40", "NVIDIA L40", "sm_89", 142, 864, 2490, _ADA),
    _row("l40s", "NVIDIA L40S", "sm_89", 142, 864, 2520, "NVIDIA L40S datasheet, product brief"),
    _row("rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 960, 2505, _ADA),
    _row("rtx4080", "NVIDIA GeForce RTX 4080", "sm_89", 76, 716.8, 2505, _ADA),
    _row("rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 1008, 2520, _ADA),
    _row("h100", "NVIDIA H100 SXM", "sm_90", 132, 3350, None, _H100, "NVIDIA H100 80GB HBM3"),
    _row("h100-pcie", "NVIDIA H100 PCIe", "sm_90", 114, 2000, 1755, _H100_PCIE),
    _row("h100-nvl", "NVIDIA H100 NVL", "sm_90", 132, 3938, 1785, "NVIDIA H100 NVL product brief"),
    _row("h200", "NVIDIA H200", "sm_90", 132, 4800, 1980, _H200),
    _row(
        "gh200", "NVIDIA GH200 (96 GB HBM3)", "sm_90", 132, 4000, None, _GH200, "NVIDIA GH200 480GB"
    ),
    _row("b200", "NVIDIA B200", "sm_100", 148, 8000, None, _DRIVER + "NVIDIA DGX B200 datasheet"),
    _row("rtx5080", "NVIDIA GeForce RTX 5080", "sm_120", 84, 960, 2617, _BLACKWELL),
    _row("rtx5090", "NVIDIA GeForce RTX 5090", "sm_120", 170, 1792, 2407, _BLACKWELL),
    _row("gb10", "NVIDIA GB10", "sm_121", 48, 273, None, _SPARK),
    # The same for AMD, in compute units.
    _row("mi100", "AMD Instinct MI100", "gfx908", 120, 1228.8, 1502, _ROCM),
    _row("mi210", "AMD Instinct MI210", "gfx90a", 104, 1638.4, 1700, _ROCM),
    # The card holds two dies, and each is a device of its own to a program: half of the card's
    # 220 compute units and half of its 3,276.8 GB/s.
    _row("mi250x", _MI250X_DIE, "gfx90a", 110, 1638.4, 1700, _ROCM, "AMD Instinct MI250X"),
    _row("mi300a", "AMD Instinct MI300A", "gfx942", 228, 5300, 2100, _ROCM),
    _row("mi300x", "AMD Instinct MI300X", "gfx942", 304, 5300, 2100, _ROCM),
    _row("mi325x", "AMD Instinct MI325X", "gfx942", 304, 6000, 2100, _ROCM),
    _row("mi350x", "AMD Instinct MI350X", "gfx950", 256, 8000, 2200, _ROCM),
    _row("mi355x", "AMD Instinct MI355X", "gfx950", 256, 8000, 2400, _ROCM),
    _row("rx7600", "AMD Radeon RX 7600", "gfx1102", 32, 288, 2655, _ROCM),
    _row("rx7800xt", "AMD Radeon RX 7800 XT", "gfx1101", 60, 624, 2430, _ROCM),
    _row("rx7900xt", "AMD Radeon RX 7900 XT", "gfx1100", 84, 800, 2400, _ROCM),
    _row("rx7900xtx", "AMD Radeon RX 7900 XTX", "gfx1100", 96, 960, 2500, _ROCM),
    _row("rx9060xt", "AMD Radeon RX 9060 XT", "gfx1200", 32, 320, 3130, _ROCM),
    _row("rx9070", "AMD Radeon RX 9070", "gfx1201", 56, 640, 2520, _ROCM),
    _row("rx9070xt", "AMD Radeon RX 9070 XT", "gfx1201", 64, 640, 2970, _ROCM),
)
