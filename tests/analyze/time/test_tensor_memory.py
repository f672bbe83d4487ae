"""Products in tensor memory: their sizes, and the waits that retire them."""

from typing import Any

import pytest

import irlens
from irlens import gpus
from irlens.analyze import sass_cfg
from irlens.analyze.time import counting
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.tensor_memory import Product, TensorMemory, tensor_memory
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


def found_in(*code: str) -> TensorMemory:
    body = section(*code)
    launch = ThreadInputs({}, {})
    machine = PathFinder(body, sass_cfg.build(body))
    return tensor_memory(machine.data, [machine.follow(launch)], launch)


def test_the_descriptor_says_the_sizes() -> None:
    assert found_in(SIZES, MULTIPLY).products == {1: SQUARE}
    in_tensor_memory = MULTIPLY.replace("gdesc[UR4]", "tmem[UR4]")
    other = found_in("UMOV UR31, 0x4100010", in_tensor_memory).products
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
        (SIZES, MULTIPLY, "UTCBAR [UR10], URZ"),
    ],
)
def test_what_is_not_in_the_code_is_unknown(code: tuple[str, ...]) -> None:
    with pytest.raises(UnknownPathError):
        found_in(*code)


def test_waits_retire_the_commits_to_their_barriers() -> None:
    barriers = found_in(
        "UMOV UR10, 0x100", "UMOV UR12, 0x200", "UMOV UR14, 0x1f8", SIZES, MULTIPLY,
        "UTCBAR [UR10], URZ", "UTCBAR [UR12], URZ",
        WAIT.format("UR14+0x8"), WAIT.format("UR10"), WAIT.format("UR10+0x80"),
    ).barriers  # fmt: skip
    assert barriers[5] == barriers[8]
    assert barriers[6] == barriers[7]
    assert barriers[5] != barriers[6]
    assert 9 not in barriers, "another copy's"


def cycles(code: list[str], barriers: dict[int, int]) -> float:
    timing = gpus.find("b200").timing
    assert timing is not None
    body = section(*code)
    flow = sass_cfg.build(body)
    products = {at: SQUARE for at, each in enumerate(code) if each == MULTIPLY}
    line = Timeline(
        timing=timing, memory=700.0, multiply_adds=4096, partitions=4, warps=4,
        tensor=TensorMemory(products, barriers),
    )  # fmt: skip
    path = PathFinder(body, flow).follow(ThreadInputs({}, {}))
    control = [Control(1, None, None, 0)] * (len(code) + 1)
    return line.durations(body.instructions, flow, [path], control)[0]


def test_a_wait_lasts_until_the_products_are_done() -> None:
    code = [MULTIPLY, MULTIPLY, "UTCBAR [UR10], URZ", WAIT.format("UR10")]
    timing = gpus.find("b200").timing
    assert timing is not None
    # 128 x 128 x 16 at 4,096 a cycle, for the whole CTA: not for each of its warps.
    assert cycles(code, {2: 0, 3: 0}) == pytest.approx(2 * 64 + timing.product, abs=4)
    assert cycles(code, {}) == pytest.approx(2 * 64, abs=4), "nobody waits"


def test_a_wait_for_the_products_before_lets_the_next_run() -> None:
    commit = ["UTCBAR [UR10], URZ", "UTCBAR [UR12], URZ"]
    wait = [WAIT.format("UR10"), WAIT.format("UR12")]
    serial = [MULTIPLY, commit[0], wait[0], MULTIPLY, commit[1], wait[1]]
    overlapped = [MULTIPLY, commit[0], MULTIPLY, commit[1], wait[0], wait[1]]
    after = cycles(serial, {1: 0, 2: 0, 4: 1, 5: 1})
    beside = cycles(overlapped, {1: 0, 3: 1, 4: 0, 5: 1})
    timing = gpus.find("b200").timing
    assert timing is not None
    assert after - beside == pytest.approx(timing.product, abs=4)
