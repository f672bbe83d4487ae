"""The GPU rows: they check themselves, and answer to the names people use."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from irlens import gpus as arch
from irlens.model.config import Target
from irlens.model.errors import UnknownNameError
from tests.tables import each_row

ALL = arch.gpus()


@each_row("gpu", ALL)
def test_every_gpu_is_found_by_its_name_in_any_spelling(gpu: arch.Gpu) -> None:
    for spelling in (gpu.name, gpu.name.upper(), gpu.name.replace("-", " ")):
        assert arch.find(spelling) == gpu


@each_row(
    ("driver", "gpu"),
    [(driver, gpu) for gpu in ALL if gpu.product for driver in gpu.product.drivers],
)
def test_a_present_gpu_is_recognised_by_its_driver_name(driver: str, gpu: arch.Gpu) -> None:
    assert arch.find(driver) == gpu


def test_a_driver_name_that_two_products_share_is_no_product() -> None:
    assert arch.find("RTX 3080").sm_count == 68
    with pytest.raises(UnknownNameError):  # 68 SMs on the card of 10 GB, 70 on that of 12 GB
        arch.find("NVIDIA GeForce RTX 3080")


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("sm_90", "sm_90"),
        ("SM90", "sm_90"),
        ("90", "sm_90"),
        ("9.0", "sm_90"),
        ("sm_90a", "sm_90"),
        ("sm_100f", "sm_100"),
        ("12.1", "sm_121"),
        ("gfx90a", "gfx90a"),
        ("gfx942:sramecc+:xnack-", "gfx942"),
    ],
)
def test_architectures_by_what_compilers_and_caches_say(spelling: str, name: str) -> None:
    found = arch.by_arch(spelling)
    assert found.arch.name == name
    assert found.product is None
    assert found.sm_count is None
    assert arch.find(spelling) == found


@pytest.mark.parametrize("name", ["", "h1000", "sm_", "sm_9", "sm_91", "gfx1", "gfx90", "½"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        arch.find(name)
    assert f"unknown target '{name}'" in caught.value.message
    assert caught.value.hint


def test_the_hint_offers_the_nearest_names() -> None:
    with pytest.raises(UnknownNameError) as caught:
        arch.find("rtx409")
    assert caught.value.hint
    assert "rtx4090" in caught.value.hint
    with pytest.raises(UnknownNameError):
        arch.by_arch("h100")  # a product, where a compiler's name is expected


def test_a_target_names_the_product_only_if_one_was_asked_for() -> None:
    assert arch.find("h100").target == Target(
        vendor="nvidia", arch="sm_90", warp_size=32, product="h100"
    )
    assert arch.find("gfx942").target == Target(vendor="amd", arch="gfx942", warp_size=64)


def test_rdna_counts_work_group_processors_and_can_be_asked_for_compute_units() -> None:
    wgp = arch.find("rx7900xtx")
    cu = wgp.in_cu_mode()
    assert (wgp.arch.multiprocessor, wgp.sm_count) == ("WGP", 48)
    assert (cu.arch.multiprocessor, cu.sm_count) == ("CU", 96)
    assert (cu.arch.warps_per_sm, cu.arch.partitions) == (2 * 16, 2)
    assert (wgp.arch.warps_per_sm, wgp.arch.partitions) == (4 * 16, 4)
    assert cu.arch.registers_per_partition == wgp.arch.registers_per_partition
    assert cu.arch.shared_per_sm == cu.arch.shared_per_block_optin == 65536
    mi300x = arch.find("mi300x")
    assert mi300x.in_cu_mode() == mi300x


BREAKS: dict[str, tuple[str, Callable[[arch.Arch], dict[str, Any]]]] = {
    "name": ("name is not", lambda row: {"name": "hopper"}),
    "negative": ("negative", lambda row: {"shared_reserved_per_block": -1}),
    "warps": ("share the warps evenly", lambda row: {"warps_per_sm": 65}),
    "block": ("largest CTA", lambda row: {"warps_per_sm": 8}),
    "registers": ("whole units", lambda row: {"registers_per_sm": row.registers_per_sm + 1}),
    "unit": ("whole for each lane", lambda row: {"register_unit": 16}),
    "thread": ("may address", lambda row: {"registers_per_thread": 4096}),
    "per block": ("more registers than", lambda row: {"registers_per_block": 1 << 30}),
    "shared": ("shared memory is not", lambda row: {"shared_per_sm": row.shared_per_sm + 1}),
    "opt-in": ("shared memory of a CTA", lambda row: {"shared_per_block_optin": 1 << 30}),
    "no source": ("no source", lambda row: {"sources": {}}),
    "source of nothing": ("no source", lambda row: {"sources": row.sources | {"l2": "a rumour"}}),
}


@pytest.mark.parametrize("case", BREAKS)
@pytest.mark.parametrize("name", ["sm_90", "gfx942", "gfx1100"])
def test_a_wrong_row_does_not_construct(name: str, case: str) -> None:
    complaint, change = BREAKS[case]
    row = arch.by_arch(name).arch
    with pytest.raises(ValueError, match=complaint):
        replace(row, **change(row))


@pytest.mark.parametrize(
    "change",
    [{"name": "H 100"}, {"units": 0}, {"bandwidth": 3350.0}, {"clock": 1980.0}, {"source": ""}],
)
def test_a_wrong_product_does_not_construct(change: dict[str, Any]) -> None:
    product = arch.find("h100").product
    assert product
    with pytest.raises(ValueError, match=r"h100|H 100"):
        replace(product, **change)


def test_grids_are_limited_as_the_vendors_say() -> None:
    """NVIDIA limits the CTAs of a dimension, HIP its threads, which lie along x."""
    nvidia, amd = (arch.by_arch(name).arch for name in ("sm_90", "gfx942"))
    assert nvidia.most_in_grid(1024) == (2**31 - 1, 65_535, 65_535)
    # A launch has at most 2^31 - 1 CTAs in any dimension.
    assert amd.most_in_grid(256) == (2**24 - 1, 2**31 - 1, 2**31 - 1)
    assert amd.most_in_grid(1) == (2**31 - 1, 2**31 - 1, 2**31 - 1)
