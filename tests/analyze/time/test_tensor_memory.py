"""Products in tensor memory: their sizes, and how long warps wait for them."""

from typing import Any

import pytest

import irlens
from irlens import gpus
from irlens.analyze import sass_cfg
from irlens.analyze.time import counting
from irlens.analyze.time.barrier_timeline import BarrierTimeline
from irlens.analyze.time.barriers import BarrierUses
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.launched import WarpPath
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.tensor_memory import Product, products_of
from irlens.isa import sass
from irlens.isa.sass import Section
from irlens.isa.sass.operands import ThreadInputs
from irlens.model.capture import Capture
from irlens.model.schedule import Control
from irlens.report.inspection import Inspection

#: A descriptor of 128 x 128, as Triton's matmul of fp16 has it.
SIZES = "UMOV UR31, 0x8210010"
MULTIPLY = "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR9], tmem[UR30], idesc[UR31], UPT"
WAIT = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [{}], R4"
SQUARE = Product(rows=128, columns=128, shared=True)


def launch_of(capture: Capture) -> counting.CostedLaunch:
    found = Inspection(capture).launch
    assert isinstance(found, counting.CostedLaunch), found
    return found


@pytest.mark.parametrize(
    ("kernel", "settings"),
    [
        ("matmul_tiled", {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "num_stages": 1}),
        ("matmul_tiled", {"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 64, "num_stages": 3}),
        ("matmul_tiled", {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "num_stages": 3}),
        ("matmul_tma", {"num_stages": 3}),
        ("matmul_persistent", {}),
        ("flash_attention", {}),
        ("flash_attention", {"CAUSAL": True}),
    ],
)
def test_products_are_those_of_the_source(kernel: str, settings: dict[str, Any]) -> None:
    capture = irlens.capture(kernel, target="b200", **settings)
    found, report = launch_of(capture), irlens.inspect(capture)
    assert report.traffic is not None
    assert report.traffic.tensor_flops is not None
    # Those of 64 rows take as long as those of 128.
    few = 2 if settings.get("BLOCK_SIZE_M") == 64 else 1
    multiply_adds = counting.count(found).tensor_cycles * found.machine.gpu.multiply_adds
    asked = few * report.traffic.tensor_flops["fp16"] / 2
    # A sample of the programs stands for all where their loops differ.
    differ = kernel == "matmul_persistent" or "CAUSAL" in settings
    assert multiply_adds == pytest.approx(asked, rel=0.01 if differ else 1e-9)
    assert report.time is not None
    assert report.roofline is not None
    assert report.time.estimate_us is not None
    assert report.time.estimate_us > (report.roofline.floor_us or 0)


def section(*code: str) -> Section:
    lines = [f"        /*{16 * n:04x}*/  {each} ;" for n, each in enumerate((*code, "EXIT"))]
    text = '.section .text.k,"ax",@progbits\nk:\n' + "\n".join(lines)
    return sass.parse(text).sections[0]


def found_in(*code: str) -> dict[int, Product]:
    body = section(*code)
    launch = ThreadInputs({}, {})
    machine = PathFinder(body, sass_cfg.build(body))
    return products_of(machine.data, {machine.follow(launch): launch})


def test_the_descriptor_says_the_sizes() -> None:
    assert found_in(SIZES, MULTIPLY) == {1: SQUARE}
    in_tensor_memory = MULTIPLY.replace("gdesc[UR4]", "tmem[UR4]")
    other = found_in("UMOV UR31, 0x4100010", in_tensor_memory)
    assert other == {1: Product(rows=64, columns=64, shared=False)}


@pytest.mark.parametrize(
    "code",
    [
        (MULTIPLY,),
        ("LDS R3, [R2]", "R2UR UR31, R3", MULTIPLY),
        (SIZES, MULTIPLY.replace("UTCHMMA", "UTCHMMA.2CTA")),
        (SIZES, MULTIPLY.replace("UTCHMMA", "UTCHMMA.WS")),
        ("UMOV UR31, 0x8210014", MULTIPLY),  # sparse
        ("UMOV UR31, 0x10", MULTIPLY),
    ],
)
def test_what_is_not_in_the_code_is_unknown(code: tuple[str, ...]) -> None:
    with pytest.raises(UnknownPathError):
        found_in(*code)


#: Two barriers at 0x100 and 0x200, each for one arrival.
BARRIERS = [
    "UMOV UR10, 0x100", "UMOV UR12, 0x200", "UMOV UR8, 0x1ffffe",
    "SYNCS.EXCH.64 URZ, [UR10], UR8", "SYNCS.EXCH.64 URZ, [UR12], UR8", "MOV R4, RZ",
]  # fmt: skip


def cycles(*code: str) -> float:
    """Return how long four warps take that set up two barriers and run some code."""
    timing = gpus.find("b200").timing
    assert timing is not None
    body = section(*BARRIERS, *code)
    flow = sass_cfg.build(body)
    products = {n: SQUARE for n, each in enumerate(body.instructions) if each.opcode == "UTCHMMA"}
    line = Timeline(
        timing=timing, memory=700.0, multiply_adds=4096, partitions=4, warps=4, products=products
    )
    machine, thread = PathFinder(body, flow), ThreadInputs({}, {})
    path = machine.follow(thread)
    uses = BarrierUses(machine.data, {path: thread})
    control = [Control(1, None, None, 0)] * len(body.instructions)
    warps = [WarpPath(path, 4, 4, 0, path.counts())]
    return BarrierTimeline(line, body.instructions, flow, control, uses).cycles(warps)


def test_a_wait_lasts_until_the_products_are_done() -> None:
    timing = gpus.find("b200").timing
    assert timing is not None
    products = [MULTIPLY, MULTIPLY, "UTCBAR [UR10], URZ"]
    # 128 x 128 x 16 at 4,096 a cycle, for the whole CTA: not for each of its warps.
    begun, beside = len(BARRIERS), pytest.approx(2 * 64, abs=len(BARRIERS) + 4)
    assert cycles(*products) == beside, "nobody waits"
    waited = cycles(*products, WAIT.format("UR10"))
    assert waited == pytest.approx(begun + 2 * 64 + timing.product, abs=4)


def test_a_wait_for_the_products_before_lets_the_next_run() -> None:
    commit = ["UTCBAR [UR10], URZ", "UTCBAR [UR12], URZ"]
    wait = [WAIT.format("UR10"), WAIT.format("UR12")]
    after = cycles(MULTIPLY, commit[0], wait[0], MULTIPLY, commit[1], wait[1])
    beside = cycles(MULTIPLY, commit[0], MULTIPLY, commit[1], wait[0], wait[1])
    timing = gpus.find("b200").timing
    assert timing is not None
    assert after - beside == pytest.approx(timing.product, abs=4)


def test_a_wait_for_products_that_no_commit_signals_has_no_time() -> None:
    with pytest.raises(UnknownPathError, match="how long its warps wait"):
        cycles(MULTIPLY, "UTCBAR [UR10], URZ", WAIT.format("UR12"))
