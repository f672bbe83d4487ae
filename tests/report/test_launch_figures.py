"""Traffic and roofline of a report: exact where the launch is known, else unknown with a reason."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import irlens
from irlens.analyze import traffic
from irlens.analyze.facts import Provenance
from irlens.gpus import find
from irlens.model.capture import Capture, Stage
from irlens.model.traffic import MatrixProduct, Traffic
from irlens.report import inspect
from irlens.report.launch_figures import find_roofline

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"


@pytest.fixture
def softmax() -> Capture:
    (capture,) = irlens.load(SAMPLES / "softmax-h100")
    return capture


def test_softmax_reads_and_writes_each_byte_once(softmax: Capture) -> None:
    report = inspect(softmax)
    found = report.traffic
    assert found is not None
    assert found.read_bytes == found.distinct_read_bytes == 4096 * 1024 * 4
    assert found.written_bytes == found.distinct_written_bytes == 4096 * 1024 * 4
    assert "traffic" in report.sources
    assert all(str(each.source) in report.code for each in found.accesses)
    assert report.roofline is not None
    # 33.6 MB at 3.35 TB/s
    assert report.roofline.memory_us == pytest.approx(10.016, abs=1e-3)


@pytest.mark.parametrize(
    ("missing", "reason"), [("args", "the launch is unknown"), ("grid", "the grid is unknown")]
)
def test_without_a_launch(softmax: Capture, missing: str, reason: str) -> None:
    config = replace(softmax.config, **{missing: {} if missing == "args" else None})
    report = inspect(replace(softmax, config=config, manifest=None))
    assert report.traffic is None
    assert report.roofline is None
    assert report.unknown["traffic"].startswith(reason)


def test_without_a_ttir_the_ttgir_is_evaluated(softmax: Capture) -> None:
    stages = {name: stage for name, stage in softmax.stages.items() if name != "ttir"}
    found, whole = inspect(replace(softmax, stages=stages)).traffic, inspect(softmax).traffic
    assert found is not None
    assert whole is not None
    assert (found.read_bytes, found.written_bytes) == (whole.read_bytes, whole.written_bytes)
    del stages["ttgir"]
    report = inspect(replace(softmax, stages=stages))
    assert report.traffic is None
    assert report.unknown["traffic"] == "there is neither ttir nor ttgir in this capture"


def test_an_excerpt_of_the_ttgir_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "excerpt.ttgir"
    path.write_text("%0 = arith.constant 1 : i32\n", "utf-8")
    (capture,) = irlens.load(path)
    report = inspect(capture)
    assert report.unknown["traffic"] == "the ttgir is an excerpt, without the kernel's function"


def test_a_failed_evaluation_leaves_the_rest(
    softmax: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Traffic:
        raise IndexError

    monkeypatch.setattr(traffic, "survey", fail)
    report = inspect(softmax)
    assert report.traffic is not None
    assert report.traffic.read_bytes is None
    assert report.unknown["traffic"] == "the ttir cannot be evaluated: IndexError"
    assert report.resources.registers is not None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("arith.muli %", "arith.muli //", "arith.muli is malformed"),
        ("{end = 1024 : i32", "{stop = 1024 : i32", "tt.make_range is malformed"),
        ("tt.load %", "tt.load //", "tt.load is malformed"),
    ],
)
def test_an_operation_without_what_it_needs_is_named(
    softmax: Capture, old: str, new: str, reason: str
) -> None:
    """Rules evaluate the kernel too, and one of them ended with a traceback."""
    text = softmax.stages["ttir"].text()
    assert old in text
    ttir = Stage("ttir", content=text.replace(old, new).encode())
    report = inspect(replace(softmax, stages={**softmax.stages, "ttir": ttir}))
    assert reason in report.unknown["traffic"]
    assert report.resources.registers is not None


@pytest.mark.parametrize("value", [1 << 63, -(1 << 70), 10**400])
def test_an_argument_of_more_than_64_bits_is_unknown(softmax: Capture, value: int) -> None:
    args = {**softmax.config.args, "n_rows": value}
    report = inspect(replace(softmax, config=replace(softmax.config, args=args), manifest=None))
    assert "64 bits" in report.unknown["traffic"]


class TestRoofline:
    MOVED = Traffic(
        distinct_read_bytes=3_350_000_000, distinct_written_bytes=0, flops={"fp16": 1_000_000},
        tensor_flops={"fp16": 1_000_000},
    )  # fmt: skip

    def test_memory_binds(self) -> None:
        found = find_roofline(self.MOVED, find("h100"), Provenance())
        assert found is not None
        assert found.memory_us == pytest.approx(1000)
        assert found.bound == "memory"
        assert found.floor_us == found.memory_us

    def test_operations_of_tensor_cores_are_not_the_vector_units(self) -> None:
        one = replace(self.MOVED, flops={"fp16": 3_000_000_000}, tensor_flops={})
        other = replace(one, tensor_flops=one.flops)
        slow, fast = (find_roofline(each, find("h100"), Provenance()) for each in (one, other))
        assert slow is not None
        assert fast is not None
        assert slow.compute_us is not None
        assert fast.compute_us is not None
        assert slow.compute_us > fast.compute_us

    @pytest.mark.parametrize(
        ("sums", "computed", "times"),
        [
            (["fp32"], "fp16", 2),
            (["fp32", "fp32"], "fp16", 2),
            (["fp32", "fp16"], "fp16", 1),
            ([None], "fp16", 1),
            (["fp32"], "e2m1", 1),  # no table has products of these in fp32
        ],
    )
    def test_sums_in_fp32_take_longer_on_a_geforce(
        self, sums: list[str | None], computed: str, times: int
    ) -> None:
        products = [
            MatrixProduct(
                line=1, source=None, operation="tt.dot", shape=(16, 8, 16), operands=computed,
                computed=computed, rate="fp16", on_tensor_cores=True, sums=each,
            )
            for each in sums
        ]  # fmt: skip
        for name, expected in (("rtx4090", times), ("rtx6000-ada", 1), ("h100", 1)):
            whole = find_roofline(self.MOVED, find(name), Provenance())
            found = find_roofline(self.MOVED, find(name), Provenance(), products)
            assert whole is not None
            assert found is not None
            assert whole.compute_us is not None
            assert found.compute_us == pytest.approx(expected * whole.compute_us)

    def test_an_architecture_has_no_bandwidth(self) -> None:
        provenance = Provenance()
        found = find_roofline(self.MOVED, find("sm_90"), provenance)
        assert found is not None
        assert found.floor_us is None
        assert "bandwidth of sm_90" in provenance.unknown["roofline"]

    def test_nothing_without_traffic_or_gpu(self) -> None:
        assert find_roofline(None, find("h100"), Provenance()) is None
        assert find_roofline(self.MOVED, None, Provenance()) is None


@pytest.mark.parametrize(("ctas", "abreast"), [(64, 1), (132, 1), (200, 2), (40_000, 8)])
def test_bytes_in_flight_are_of_the_ctas_that_the_launch_has_for_an_sm(
    ctas: int, abreast: int
) -> None:
    """Eight CTAs fit an SM of an H100, which has 132."""
    (capture,) = irlens.load(SAMPLES / "softmax-h100")
    report = irlens.inspect(capture, launch={"grid": [ctas, 1, 1]})
    (pipeline,) = report.pipelines
    assert pipeline.bytes_in_flight == 8192
    assert pipeline.bytes_in_flight_per_sm == 8192 * abreast
