"""The products' figures against tables that were made without irlens."""

import pytest

from irlens import gpus as arch
from irlens.model.errors import UnknownNameError
from tests.tables import each_row

# FluidX3D, README, table 'Single-GPU/CPU Benchmark': peak FP32 rate in TFLOP/s, which its author
# computes from the units and the clock that the driver reports, and memory bandwidth in GB/s.
BENCHMARKED = {
    "v100": (15.67, 900),
    "t4": (8.14, None),  # the table has T4's 300 GB/s of some documents, not 320
    "rtx2080ti": (13.45, 616),
    "a100": (19.49, 1555),
    "a100-80gb": (19.49, 2039),
    "a100-80gb-pcie": (19.49, 1935),
    "a10": (31.24, 600),
    "rtx-a6000": (None, 768),  # None: a card that runs faster than the vendor says
    "rtx3080": (29.77, 760),
    "rtx3090": (None, 936),
    "l4": (30.29, 300),
    "l40": (90.52, 864),
    "l40s": (91.61, 864),
    "rtx6000-ada": (91.10, 960),
    "rtx4080": (None, 717),
    "rtx4090": (82.58, 1008),
    "h100": (None, 3350),
    "h100-pcie": (51.01, 2000),
    "h100-nvl": (60.32, 3938),
    "h200": (66.91, 4800),
    "gh200": (None, 4000),
    "b200": (None, 8000),
    "rtx5080": (56.34, 960),
    "rtx5090": (104.88, 1792),
    "mi100": (46.14, 1228),
    "mi210": (45.26, 1638),
    "mi300x": (163.43, 5300),
    "mi355x": (157.29, 8000),
    "rx7600": (21.75, 288),
    "rx7800xt": (37.32, 624),
    "rx7900xt": (51.61, 800),
    "rx7900xtx": (61.44, 960),
    "rx9070": (36.13, 640),
    "rx9070xt": (48.66, 640),
    "a30": (10.32, 933),
    "a16": (4.49, 200),
    "a2": (4.53, 200),
    "a40": (37.42, 696),
    "rtx-a4000": (19.17, 448),
    "rtx-a5000": (27.77, 768),
    "rtx3060": (13.17, 360),
    "rtx3060ti": (16.49, 448),
    "rtx3070": (20.31, 448),
    "rtx3070ti": (21.75, 608),
    "rtx3090ti": (40.00, 1008),
    "rtx4000-ada": (26.73, 360),
    "rtx4060": (15.11, 272),
    "rtx4070": (29.15, 504),
    "rtx4070-super": (35.55, 504),
    "rtx4070ti-super": (44.10, 672),
    "rtx4080-super": (52.22, 736),
    "h200-nvl": (60.32, 4800),
    "b300": (76.99, 8000),
    "rtx-pro-6000": (125.95, 1792),
    "rtx5070": (30.84, 672),
    "mi250": (45.26, 1638),
    "w7800": (45.20, 576),
    "w7900": (61.30, 864),
    "r9700": (47.84, 640),
    "strix-halo": (29.70, 256),
}
# The same by the vendors' own figures, as PyTorch's _inductor/analysis/device_info.py (MI300A,
# MI350X) and awesomeagents.ai (MI325X) quote them.
QUOTED = {"mi300a": (122.6, 5300), "mi325x": (163.4, 6000), "mi350x": (144.2, 8000)}


@each_row(("name", "figures"), (BENCHMARKED | QUOTED).items())
def test_figures_are_those_of_public_tables(
    name: str, figures: tuple[float | None, float | None]
) -> None:
    product = arch.find(name).product
    assert product
    teraflops, gigabytes_per_second = figures
    if gigabytes_per_second is not None:
        assert product.bandwidth == pytest.approx(gigabytes_per_second * 1e9, rel=1e-3)
    if teraflops is not None:
        assert product.units
        assert product.clock
        # 64 lanes of FP32 in an SM up to the A100, then 128, as in a CU; 2 FLOPs a lane and clock.
        flops = 128 if product.arch in ("sm_70", "sm_75", "sm_80") else 256
        assert product.units * product.clock * flops == pytest.approx(teraflops * 1e12, rel=5e-3)


# ROCm documentation, 'AMD GPU specifications': LDS and vector registers in KiB, and compute units.
ROCM = {
    "mi100": (64, 256, 120),
    "mi210": (64, 512, 104),
    "mi250x": (64, 512, 110),
    "mi300a": (64, 512, 228),
    "mi300x": (64, 512, 304),
    "mi325x": (64, 512, 304),
    "mi350x": (160, 512, 256),
    "mi355x": (160, 512, 256),
    "rx7600": (128, 512, 32),
    "rx7800xt": (128, 768, 60),
    "rx7900xt": (128, 768, 84),
    "rx7900xtx": (128, 768, 96),
    "rx9060xt": (128, 768, 32),
    "rx9070": (128, 768, 56),
    "rx9070xt": (128, 768, 64),
    "gfx1150": (128, 512, None),
    "gfx1151": (128, 768, None),
}


@each_row(("name", "figures"), ROCM.items())
def test_amd_is_as_rocm_documents_it(name: str, figures: tuple[int, int, int | None]) -> None:
    gpu = arch.find(name)
    lds, registers, units = figures
    assert gpu.arch.shared_per_sm == lds * 1024
    assert gpu.arch.registers_per_sm * 4 == registers * 1024
    assert (gpu.product.units if gpu.product else None) == units


# The same table's memory in GB; of the B200 it has 182, and 180 in the product's name.
MEMORY = {"a100": 40, "h100": 80, "h100-nvl": 94, "h200": 141, "mi250x": 64, "mi300x": 192}


@pytest.mark.parametrize(("name", "gigabytes"), MEMORY.items())
def test_memory_is_that_of_the_table(name: str, gigabytes: int) -> None:
    product = arch.find(name).product
    assert product
    assert product.memory == gigabytes << 30


@pytest.mark.parametrize("name", ["v100", "gb10"])
def test_memory_of_several_sizes_or_shared_with_the_cpu_is_unknown(name: str) -> None:
    product = arch.find(name).product
    assert product
    assert product.memory is None


@each_row(
    ("written", "name"),
    [
        ("H100 PCIe", "h100-pcie"),
        ("h100-sxm5", "h100"),
        ("NVIDIA L4", "l4"),
        ("RTX PRO 6000", "rtx-pro-6000"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
        ("geforce rtx 4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("7900 XTX", "rx7900xtx"),
        ("Radeon RX 7900 XTX", "rx7900xtx"),
        ("Instinct MI308X", "mi308x"),
        ("AMD MI300X", "mi300x"),
        ("Tesla V100", "v100"),
        ("a6000", "rtx-a6000"),
        ("a100-sxm4-80gb", "a100-80gb"),
        ("Strix Halo", "strix-halo"),
        ("Ryzen AI Max+ 395", "strix-halo"),
        ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "strix-halo"),
        ("GB300 NVL72", "gb300"),
        ("DGX Spark", "gb10"),
    ],
)
def test_products_have_the_names_that_people_use(written: str, name: str) -> None:
    assert arch.find(written).name == name


@pytest.mark.parametrize(
    "written", ["rtx4090d", "rtx5070ti", "rtx6000", "nvidia", "radeon", "mi300", "h100x"]
)
def test_no_other_product_is_taken_for_one(written: str) -> None:
    with pytest.raises(UnknownNameError):
        arch.find(written)


def test_what_was_slowed_for_export_has_no_peak_of_the_architecture() -> None:
    h20, h800 = arch.find("h20"), arch.find("h800")
    assert h20.peak_flops("fp16", "tensor") is None
    assert h800.peak_flops("fp64", "tensor") is None
    assert h800.peak_flops("fp16", "tensor") == arch.find("h100").peak_flops("fp16", "tensor")
    assert arch.find("l20").peak_flops("fp16", "tensor") is None
    a800 = arch.find("a800").peak_flops("fp16", "tensor")
    assert a800 == pytest.approx(312e12, rel=5e-3)


def test_blackwell_ultra_is_faster_in_fp4_alone() -> None:
    # NVIDIA, 'Inside NVIDIA Blackwell Ultra': 15 PFLOP/s of dense NVFP4; HGX B300: 4.5 of fp8.
    b300 = arch.find("b300")
    assert b300.arch.name == "sm_103"
    assert b300.peak_flops("fp4", "tensor") == pytest.approx(15e15, rel=0.05)
    assert b300.peak_flops("fp8", "tensor") == pytest.approx(4.5e15, rel=0.1)
    assert b300.peak_flops("fp64", "tensor") is None


def test_what_triton_compiles_for_and_does_not_support_is_said() -> None:
    note = arch.support_note(arch.find("v100"))
    assert note is not None
    assert "from sm_80 on: for sm_70 it compiles, without the tensor cores" in note
    assert arch.support_note(arch.find("a100")) is None
    assert arch.support_note(arch.find("mi100")) is None
