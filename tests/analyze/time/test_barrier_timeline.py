"""Launches whose barriers are followed: specialized warps, and copies in inner loops."""

import io
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.time.barrier_timeline import _Barrier, _coupled
from irlens.analyze.time.barriers import BarrierUses
from irlens.analyze.time.counting import CostedLaunch
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.artifacts.code_listings import CodeListings
from irlens.model.estimate import TimeEstimate
from irlens.report.inspection import Inspection
from irlens.session.launch import Launch, with_launch

DATA = Path(__file__).parents[2] / "data" / "h100"
ROWS: list[dict[str, Any]] = json.loads((DATA / "specialized.json").read_text())


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("specialized")
    with lzma.open(DATA / "specialized.tar.xz") as file:
        content = io.BytesIO(file.read())
    with tarfile.open(fileobj=content) as archive:
        archive.extractall(folder, filter="data")
    return folder


@cache
def listings(folder: Path) -> CodeListings:
    """Return the code of all captures, which one run of nvdisasm lists."""
    return CodeListings(each for row in ROWS for each in irlens.load(folder / row["entry"]))


def inspection(row: dict[str, Any], folder: Path) -> Inspection:
    (found,) = irlens.load(folder / row["entry"])
    launch = Launch(args=row["args"], grid=tuple(row["grid"]))
    return Inspection(CaptureCode(with_launch(found, launch, "h100"), listings(folder)))


@cache
def launched(number: int, folder: Path) -> tuple[TimeEstimate, CostedLaunch]:
    found = inspection(ROWS[number], folder)
    assert isinstance(found.launch, CostedLaunch)
    assert found.time is not None
    return found.time, found.launch


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number]["entry"])
def test_the_range_holds_what_an_h100_took(number: int, captures: Path) -> None:
    time, launch = launched(number, captures)
    assert launch.code.barriers is not None
    assert time.low_us is not None
    assert time.high_us is not None
    assert time.low_us < ROWS[number]["us"] < time.high_us


def test_half_of_the_estimates_are_within_seven_percent(captures: Path) -> None:
    errors = []
    for number, row in enumerate(ROWS):
        estimate = launched(number, captures)[0].estimate_us
        assert estimate is not None
        errors.append(abs(row["us"] / estimate - 1))
    assert median(errors) < 0.07
    assert max(errors) < 0.2


def test_each_partition_has_the_warps_that_its_default_warps_start(captures: Path) -> None:
    _, launch = launched(0, captures)
    opcodes = [
        {
            launch.code.section.instructions[index].opcode
            for block in one.counts
            for index in launch.code.flow.blocks[block].indices
        }
        for one in launch.followed[0]
    ]
    warps = [one.of_cta for one in launch.followed[0]]
    assert sum(warps) == 12
    assert sum(n for n, each in zip(warps, opcodes, strict=True) if "HGMMA" in each) == 8
    assert sum(n for n, each in zip(warps, opcodes, strict=True) if "UTMALDG" in each) == 4


@pytest.mark.parametrize("row", [ROWS[0], ROWS[9]], ids=lambda row: row["entry"])
def test_warps_that_wait_for_ever_have_no_time(
    row: dict[str, Any], captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    along = BarrierUses.along

    def without_arrivals(*args: Any) -> Any:
        return [None if use and use.deed == "arrives" else use for use in along(*args)]

    monkeypatch.setattr(BarrierUses, "along", without_arrivals)
    found = inspection(row, captures)
    assert found.launch == "how long its warps wait for each other is unknown"


def test_bytes_that_no_copy_brings_have_no_time(
    captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come by a copy of other warps, or in a form that is not understood."""
    along = BarrierUses.along

    def without_copies(*args: Any) -> Any:
        return [None if use and use.deed == "copies" else use for use in along(*args)]

    monkeypatch.setattr(BarrierUses, "along", without_copies)
    found = inspection(ROWS[0], captures)
    assert found.launch == "which copies a barrier waits for is unknown"


def test_a_persistent_product_falls_back_on_the_order_of_its_waits(
    captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warps do not depend on each other: a barrier that is not known leaves it a time."""
    (row,) = [each for each in ROWS if not each["specialized"] and each["us"] > 200]

    def unknown(*_: Any) -> Any:
        raise UnknownPathError("the barrier is unknown")

    monkeypatch.setattr(BarrierUses, "along", unknown)
    found = inspection(row, captures).launch
    assert isinstance(found, CostedLaunch)
    assert found.code.barriers is None


def test_a_phase_ends_with_the_last_arrival_and_the_last_copy() -> None:
    barrier = _Barrier(2)
    assert barrier.passes(1) == 0.0  # "the phase before the first" has ended
    assert barrier.passes(0) is None
    assert not barrier.count(10, arrivals=1, copies=1)
    assert not barrier.count(40, copies=-1)
    assert barrier.count(20, arrivals=1)
    assert barrier.passes(0) == 40
    assert barrier.passes(1) is None
    assert barrier.count(50, arrivals=2)
    assert barrier.passes(1) == 50


def test_loops_that_hand_each_other_buffers_lose_the_same_rounds() -> None:
    """One partition does its first round before the loop, or its last ones after it."""
    assert _coupled({64, 16, 63, 128, 61}) == [(16,), (61, 63, 64), (128,)]


SQUARE = {"M": 4096, "N": 4096, "K": 4096} | dict.fromkeys("abc", "fp16[4096, 4096]")
TILES = {"BM": 128, "BN": 128, "BK": 64}
HEADS = {"Z": 1, "H": 4, "T": 2048, "scale": 0.1} | dict.fromkeys("qkvo", "fp16[8192, 64]")


@pytest.mark.parametrize(
    ("kernel", "args", "constexprs", "grid"),
    [
        ("mm", SQUARE, TILES, (1024,)),
        ("mmp", SQUARE, TILES | {"SMS": 1100}, (1100,)),  # some of the CTAs have no tile
        ("fa", HEADS, {"BM": 128, "BN": 64, "D": 64}, (16, 4)),
    ],
)
def test_products_in_tensor_memory_are_waited_for_by_other_warps(
    kernel: str, args: dict[str, Any], constexprs: dict[str, Any], grid: tuple[int, ...]
) -> None:
    found = Inspection(
        irlens.capture(
            f"{DATA / 'specialized.py'}:{kernel}", target="b200", args=args, grid=grid,
            num_warps=4, num_stages=3, WS=True, **constexprs,
        )
    )  # fmt: skip
    launch, time, report = found.launch, found.time, found.report()
    assert isinstance(launch, CostedLaunch)
    assert launch.code.barriers is not None
    issuing = [
        one.of_cta
        for one in launch.followed[0]
        for number in one.counts
        if not launch.code.products.keys().isdisjoint(launch.code.flow.blocks[number].indices)
    ]
    assert set(issuing) == {1}, "one warp issues all products"
    assert report.traffic is not None
    assert report.traffic.tensor_flops is not None
    assert report.roofline is not None
    cycles = launch.counts.tensor_cycles * launch.machine.gpu.multiply_adds
    differ = kernel == "mmp"  # a sample of the CTAs stands for all
    flops = report.traffic.tensor_flops["fp16"]
    assert cycles == pytest.approx(flops / 2, rel=0.1 if differ else 1e-6)
    assert time is not None
    assert time.estimate_us is not None
    assert time.estimate_us > (report.roofline.floor_us or 0)
