"""The time of a launch from what it asks of each unit."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.time import estimate
from irlens.analyze.time.counts import Counts
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report

H200 = gpus.find("h200")
REPORTS = sorted((Path(__file__).parents[3] / "samples/reports").glob("*.json"))
assert REPORTS

#: An add of 2^25 floats: 402,653,184 bytes, which an H200 moves in 98 µs.
ADD = Counts(
    ctas=32768,
    resident=16,
    cta_cycles=1100.0,
    instructions=3_932_160,
    units={"alu": 786_432, "fma": 1_179_648, "lsu": 786_432},
    tensor_cycles=0.0,
    shared_wavefronts=0.0,
    exchanged=0.0,
    l1_cycles=3_145_728,
    l2_bytes=402_653_184,
    dram_bytes=402_653_184,
    written_bytes=134_217_728,
)
TIMED = [gpu for gpu in gpus.gpus() if estimate(ADD, gpu).estimate_us is not None]
assert len(TIMED) > 10


def test_a_streaming_kernel_is_bound_by_memory() -> None:
    time = estimate(ADD, H200)
    assert time.bound == "dram"
    assert time.estimate_us == pytest.approx(98.7, rel=0.1)
    assert time.low_us is not None
    assert time.high_us is not None
    assert time.low_us < 98.7 < time.high_us
    assert time.parts["dram"] == pytest.approx(402_653_184 / 4.8e6 / 0.871, rel=0.02)


def test_a_launch_takes_as_long_as_its_longest_cta() -> None:
    """CTAs of a batch of sequences that all run at once, one of them four times the mean."""
    launch = replace(ADD, ctas=528, resident=4, dram_bytes=0.0, l2_bytes=0.0, cta_cycles=20e3)
    even, uneven = (estimate(replace(launch, longest=each), H200) for each in (1.0, 4.0))
    assert uneven.parts["latency"] == pytest.approx(4 * 20e3 / 1980, rel=0.01)
    assert even.parts["latency"] < 0.5 * uneven.parts["latency"]
    # What comes one after the other hides it.
    many = replace(launch, ctas=52_800, longest=4.0)
    assert estimate(many, H200) == estimate(replace(many, longest=1.0), H200)


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"ctas": 1 << 20, "instructions": 0.0}, "launch"),
        ({"units": {"xu": 1e9}}, "xu"),
        ({"units": {"alu": 1e9}}, "alu"),
        ({"units": {"fma": 1e10}}, "fma"),
        ({"instructions": 1e10}, "issue"),
        ({"shared_wavefronts": 1e9}, "shared"),
        ({"exchanged": 1e9}, "shared"),
        ({"l1_cycles": 2.5e9}, "l1"),
        ({"tensor_cycles": 1e9}, "tensor"),
        ({"l2_bytes": 1e12}, "l2"),
        ({"cta_cycles": 1e7}, "latency"),
    ],
)
def test_the_busiest_unit_is_what_binds(changes: dict[str, object], bound: str) -> None:
    more = estimate(replace(ADD, **changes), H200)
    assert more.bound == bound
    before = estimate(ADD, H200).estimate_us
    assert before is not None
    assert more.estimate_us is not None
    assert more.estimate_us > before


def test_l1_and_shared_memory_take_turns() -> None:
    """Lanes get what they load from both through one pipe, which is busy 90 % of the time."""
    half = replace(ADD, l1_cycles=2e7, exchanged=2e7, shared_wavefronts=2e7)
    both = estimate(half, H200)
    assert both.parts["l1"] == both.parts["shared"]
    l1 = estimate(replace(half, l1_cycles=4e7, exchanged=0.0, shared_wavefronts=0.0), H200)
    assert both.estimate_us == pytest.approx(l1.estimate_us)
    assert l1.parts["l1"] == pytest.approx(4e7 / 132 / 0.9 / 1980, rel=0.01)


def test_loads_wait_in_queues_as_far_as_memory_is_busy() -> None:
    """One CTA whose loads depend on each other takes 528 to 540 cycles for each on an H100."""
    alone = replace(
        ADD, ctas=1, resident=1, cta_cycles=2_000_000.0, instructions=1e4, units={}, l1_cycles=2e3,
        l2_bytes=256_000, dram_bytes=256_000, written_bytes=0.0,
    )  # fmt: skip
    queued = replace(alone, queued_cycles=700_000.0)
    idle = replace(alone, cta_cycles=1_300_000.0)
    assert estimate(queued, H200).estimate_us == pytest.approx(
        estimate(idle, H200).estimate_us, rel=0.01
    )
    busy = replace(ADD, queued_cycles=400.0)
    assert estimate(busy, H200) == estimate(replace(busy, queued_cycles=0.0), H200)


def test_the_queues_of_l2_and_memory_count_by_what_waits_for_each() -> None:
    timing = H200.timing
    assert timing is not None
    assert timing.queued(1.0, 0.5, 1.0) == 0.5
    assert timing.queued(0.0, 0.5, 1.0) == 1.0
    assert timing.queued(0.3, 1.0, 1.0) == pytest.approx(1.0)
    waits = timing.load_latency(0.3, 0.0) - timing.load_latency(0.3, 0.0, queues=False)
    of_memory = 0.3 * (timing.memory - timing.idle_memory)
    assert timing.queued(0.3, 1.0, 0.0) == pytest.approx(of_memory / waits)
    assert replace(timing, memory=500.0, l2=250.0).queued(0.5, 0.1, 0.1) == 1.0


def test_no_launch_is_faster_than_a_unit_alone() -> None:
    time = estimate(replace(ADD, tensor_cycles=1e8, l2_bytes=2e9), H200)
    assert time.estimate_us is not None
    assert time.estimate_us >= max(v for name, v in time.parts.items() if name != "launch")


def assert_no_part_exceeds(time: TimeEstimate) -> None:
    assert time.estimate_us is not None
    for name, part in time.parts.items():
        assert part <= time.estimate_us * (1 + 1e-9), name


_WORK = st.floats(0, 1e9)


@given(
    st.sampled_from(TIMED), st.integers(1, 1 << 16), st.integers(1, 32),
    st.lists(_WORK, min_size=8, max_size=8),
)  # fmt: skip
@example(gpus.find("rtx5090"), 1024, 2, [0, 0, 5e7, 0, 0, 0, 0, 0])
@example(H200, 1 << 14, 1, [0, 0, 0, 0, 1e9, 0, 0, 0])
def test_no_part_exceeds_the_estimate(
    gpu: gpus.Gpu, ctas: int, resident: int, work: list[float]
) -> None:
    """Few CTAs on an SM leave its units waiting; none of them works for longer than the launch."""
    cycles, instructions, tensor, wavefronts, exchanged, l1, l2, dram = work
    counts = replace(
        ADD, ctas=ctas, resident=resident, cta_cycles=cycles / ctas, instructions=instructions,
        tensor_cycles=tensor, shared_wavefronts=wavefronts, exchanged=exchanged, l1_cycles=l1,
        l2_bytes=l2, dram_bytes=dram, units={"alu": instructions / 2},
    )  # fmt: skip
    assert_no_part_exceeds(estimate(counts, gpu))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_no_part_exceeds_the_estimate_of_a_sample(path: Path) -> None:
    time = msgspec.json.decode(path.read_bytes(), type=Report).time
    if time is not None and time.estimate_us:
        assert_no_part_exceeds(time)


def test_ctas_that_fill_a_part_of_the_sms_leave_the_others_idle() -> None:
    small = replace(ADD, ctas=64, resident=2, tensor_cycles=64 * 1e5, instructions=0.0)
    full = replace(small, ctas=132, tensor_cycles=132 * 1e5)
    assert estimate(small, H200).parts["tensor"] == estimate(full, H200).parts["tensor"]


def test_a_gpu_that_was_not_measured_gets_a_wide_range() -> None:
    time, known = estimate(ADD, gpus.find("a100")), estimate(ADD, H200)
    assert "measured on another GPU" in time.reason
    assert not known.reason

    def width(each: object) -> float:
        return each.high_us / each.low_us  # type: ignore[attr-defined,no-any-return]

    assert width(time) > 1.5 * width(known)


def test_counts_that_are_not_exact_widen_the_range() -> None:
    time, exact = estimate(replace(ADD, uncertain="guessed"), H200), estimate(ADD, H200)
    assert time.reason == "guessed"
    assert time.estimate_us == exact.estimate_us
    assert time.high_us is not None
    assert exact.high_us is not None
    assert time.high_us > exact.high_us


@pytest.mark.parametrize("name", ["mi300x", "sm_100", "sm_90"])
def test_what_is_not_understood_has_no_time(name: str) -> None:
    time = estimate(ADD, gpus.find(name))
    assert time.estimate_us is None
    assert time.reason


H100 = gpus.find("h100")


@pytest.mark.parametrize(
    ("read", "written", "crossed", "bound"),
    [
        # What Nsight Compute says of an H100: DRAM 84 and L2 78 % of _grpo_loss_bwd_kernel, 62 and
        # 76 % of layer_norm_fwd_kernel_row, whose writes mostly stay in the L2, 47 and 95 % of
        # logsigmoid_bwd_kernel, which spills registers to it.
        (262e6, 262e6, 267e6, "dram"),
        (34e6, 34e6, 34e6, "l2"),
        (134e6, 67e6, 214e6, "l2"),
    ],
)
def test_the_way_between_the_halves_of_the_l2_binds_where_memory_is_less_busy(
    read: float, written: float, crossed: float, bound: str
) -> None:
    counts = replace(
        ADD, ctas=4096, l2_bytes=read + written, dram_bytes=read + written, written_bytes=written,
        crossed_bytes=crossed,
    )  # fmt: skip
    time = estimate(counts, H100)
    assert time.bound == bound
    assert time.parts["l2"] == pytest.approx(crossed / 1.88e6)
    assert time.estimate_us is not None
    assert time.estimate_us > crossed / 1.88e6
    assert estimate(counts, H200).bound == "dram"  # whose L2's way was not measured


def test_the_rate_of_the_slices_is_known_of_gpus_that_were_measured_alone() -> None:
    timings = [gpus.find(name).timing for name in ("h100", "h200", "h100-pcie", "a100")]
    rates = [each and (each.l2_lookups, each.l2_inputs) for each in timings]
    assert rates == [(1.37e11, 1.37e11), (1.58e11, 1.46e11), (None, None), (None, None)]


def test_memory_is_slower_where_it_turns_from_reading_to_writing() -> None:
    """Terabytes a second of an H200: 4.46 of 7 reads and a write, 3.87 of a read and 3."""
    moved = {part: replace(ADD, dram_bytes=2e9, written_bytes=2e9 * part) for part in
             (0.125, 0.25, 0.5, 0.75)}  # fmt: skip
    rates = {part: 2e9 / estimate(each, H200).parts["dram"] / 1e6 for part, each in moved.items()}
    took = {0.125: 4.46, 0.25: 4.43, 0.5: 4.08, 0.75: 3.87}
    assert rates == {part: pytest.approx(rate, rel=0.05) for part, rate in took.items()}
    alone = estimate(replace(ADD, dram_bytes=2e9, written_bytes=2e9), H200).parts["dram"]
    assert 2e9 / alone / 1e6 == pytest.approx(4.67, rel=0.05)


@pytest.mark.parametrize(
    ("words", "apart", "us"),
    [(1 << 22, 1.0, 118.6), (1 << 20, 1.0, 40.1)],
)
def test_pieces_in_pages_of_their_own_keep_memory_busy(words: int, apart: float, us: float) -> None:
    """Words 4 KB apart, of each of which memory delivers 64 bytes (``lanes``)."""
    launch = replace(
        ADD, ctas=words // 1024, resident=16, dram_bytes=68.0 * words, l2_bytes=36.0 * words,
        written_bytes=4.0 * words, pieces=apart * words,
    )  # fmt: skip
    assert estimate(launch, H200).estimate_us == pytest.approx(us, rel=0.12)


def test_what_enters_the_l2_binds_where_sectors_are_written_in_parts() -> None:
    """A copy of 64 × 3 × 224 × 224 bf16 to NHWC takes an H100 68 µs, and keeps its L2 busy."""
    counts = replace(
        ADD, ctas=9408, l2_bytes=140e6, dram_bytes=38e6, written_bytes=19e6, input_cycles=7.47e6
    )
    time = estimate(counts, H100)
    assert time.bound == "l2"
    assert time.estimate_us == pytest.approx(68, rel=0.15)
    few = estimate(replace(counts, input_cycles=0.0), H100).estimate_us
    assert few is not None
    assert few < 40


@pytest.mark.parametrize(
    ("ctas", "lookups", "l2_bytes", "us"),
    [
        (32_768, 69.6e6, 2149e6, 513.9),  # sums of columns: a request touches 32 lines
        (32_768, 9.25e6, 285e6, 71.7),  # a transposed copy
    ],
)
def test_what_the_l2_looks_up_binds_where_requests_touch_many_lines(
    ctas: int, lookups: float, l2_bytes: float, us: float
) -> None:
    """What an H100 took; its L2 was busy for 97 and 87 % of the time with its tags."""
    counts = replace(
        ADD, ctas=ctas, l2_bytes=l2_bytes, dram_bytes=l2_bytes / 14, lookups=lookups,
        resident=16,
    )  # fmt: skip
    time = estimate(counts, H100)
    assert time.bound == "l2"
    assert time.estimate_us == pytest.approx(us, rel=0.15)
    few = estimate(replace(counts, lookups=0.0), H100).estimate_us
    assert few is not None
    assert few < 0.6 * us


@pytest.mark.parametrize(
    ("read", "written", "us"),
    [
        (4, 4, 3.97), (1 << 18, 1 << 18, 4.54), (1 << 20, 1 << 20, 4.93), (1 << 22, 1 << 22, 7.10),
        (1 << 24, 1 << 24, 16.2), (1 << 25, 1 << 25, 27.0), (1 << 27, 1 << 27, 93.9),
        (1 << 20, 0, 4.61), (1 << 22, 0, 6.59), (1 << 24, 0, 11.9), (1 << 25, 0, 18.7),
        (1 << 27, 0, 55.6), (0, 4, 3.71),
    ],
)  # fmt: skip
def test_streams_of_any_size_take_what_an_h100_takes(read: int, written: int, us: float) -> None:
    """Copies and reads of floats by CTAs of 1,024; the L2 holds what was written before."""
    ctas = max(1, (read or written) // 4096)
    counts = Counts(
        ctas=ctas, resident=16, cta_cycles=1000.0 if read else 60.0, instructions=100.0 * ctas,
        units={}, tensor_cycles=0.0, shared_wavefronts=0.0, exchanged=0.0,
        l1_cycles=max(8.0 * ctas, (read + written) / 128), l2_bytes=read + written,
        dram_bytes=read + written, written_bytes=written, crossed_bytes=(read + written) / 2,
    )  # fmt: skip
    assert estimate(counts, H100).estimate_us == pytest.approx(us, rel=0.12)


def test_a_launch_that_moves_nothing_takes_what_an_empty_one_does() -> None:
    counts = replace(
        ADD, ctas=1, cta_cycles=30.0, instructions=8.0, units={}, l1_cycles=1,
        l2_bytes=32, dram_bytes=32, written_bytes=32,
    )  # fmt: skip
    time = estimate(counts, H100)
    assert time.estimate_us == pytest.approx(3.7, rel=0.05)  # 3.6 to 3.8 µs on an H100


@pytest.mark.parametrize(("name", "figure"), [("h20", "clock"), ("a10g", "clock")])
def test_what_no_source_states_is_named(name: str, figure: str) -> None:
    time = estimate(ADD, gpus.find(name))
    assert time.reason == f"no public source states the {figure} of {name}"
