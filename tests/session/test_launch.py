"""Launches given for a cache entry: arguments, grid and product complete what it does not say."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import irlens
from irlens.artifacts import npy, report_cache
from irlens.model.capture import Capture, Disassembly
from irlens.model.config import ConstexprValue
from irlens.model.errors import ArtifactError, CaptureError, UnknownNameError
from irlens.session.launch import Launch, read_launch, with_launch


@pytest.fixture
def bare() -> Capture:
    """Return a cache entry of softmax as Triton alone would have written it."""
    (capture,) = irlens.load(Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100")
    assert capture.target is not None
    config = replace(capture.config, args={}, constexprs={}, grid=None)
    target = replace(capture.target, product=None)
    return replace(capture, manifest=None, config=config, target=target)


SOFTMAX: dict[str, ConstexprValue] = {
    "output_ptr": "fp32[rows, cols]", "input_ptr": "fp32[rows, cols]", "rows": 64, "cols": 1024,
    "input_row_stride": 1024, "output_row_stride": 1024, "n_rows": 64, "n_cols": 1024,
}  # fmt: skip


class TestWithLaunch:
    def test_arguments_grid_and_product(self, bare: Capture) -> None:
        launched = with_launch(bare, Launch(args=dict(SOFTMAX), grid=("n_rows", 1, 1)), "h200")
        assert launched.target is not None
        assert launched.target.full_name == "sm_90 (h200)"
        assert launched.config.grid == (64, 1, 1)
        assert launched.config.args["input_ptr"] == "fp32[64, 1024]"
        assert launched.config.constexprs == {"rows": 64, "cols": 1024}
        assert bare.config.args == {}

    def test_arguments_are_in_the_order_of_the_kernel(self, bare: Capture) -> None:
        backwards = dict(reversed(SOFTMAX.items()))
        one = with_launch(bare, Launch(args=dict(SOFTMAX))).config
        assert list(one.args) == list(with_launch(bare, Launch(args=backwards)).config.args)

    @pytest.mark.parametrize(
        ("launch", "target", "message"),
        [
            (Launch(), "a100", "compiled for sm_90, and a100 is sm_80"),
            (Launch(args={"input_ptr": 3}), None, "input_ptr of softmax_kernel is a tensor, not 3"),
            (Launch(args={"n_rows": "fp32[3]"}), None, "is a number, not a tensor"),
            (Launch(args={"input_ptr": "fp16[3]"}), None, "is fp32, not fp16"),
            (Launch(args={"input_row_stride": 1000}), None, "divisible by 16, which 1000 is not"),
            (Launch(args={"input_ptr": "fp32[k]"}), None, "needs a value of 'k'"),
            (Launch(grid=("n",)), None, "needs a value of 'n'"),
            (Launch(grid=(0,)), None, "not a number of CTAs"),
            (Launch(grid=(1, 1, 1, 1)), None, "at most 3 dimensions"),
        ],
    )
    def test_mistakes(
        self, bare: Capture, launch: Launch, target: str | None, message: str
    ) -> None:
        with pytest.raises(CaptureError, match=message):
            with_launch(bare, launch, target)

    def test_unknown_names(self, bare: Capture) -> None:
        with pytest.raises(UnknownNameError, match="input"):
            with_launch(bare, Launch(args={"inputs_ptr": "fp32[3]"}))
        with pytest.raises(UnknownNameError, match="h2000"):
            with_launch(bare, Launch(), "h2000")

    def test_a_capture_of_irlens_knows_its_arguments(self) -> None:
        path = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"
        (capture,) = irlens.load(path)
        assert with_launch(capture, Launch(args={"BLOCK_SIZE": 1024})).config == capture.config
        with pytest.raises(CaptureError, match="compiled for BLOCK_SIZE = 1024"):
            with_launch(capture, Launch(args={"BLOCK_SIZE": 2048}))
        with pytest.raises(UnknownNameError, match="warmth"):
            with_launch(capture, Launch(args={"warmth": 1}))

    def test_a_target_that_no_artifact_says(self, bare: Capture) -> None:
        with pytest.raises(CaptureError, match="no artifact says"):
            with_launch(replace(bare, target=None), Launch(), "h200")


class TestContents:
    def test_a_file_gives_dtype_shape_and_contents(self, bare: Capture, tmp_path: Path) -> None:
        path = tmp_path / "rows.npy"
        np.save(path, np.zeros((64, 1024), np.float32))
        launched = with_launch(bare, Launch(args={"input_ptr": f"@{path}"}))
        assert launched.config.args == {"input_ptr": "fp32[64, 1024]"}
        assert launched.config.arguments() == {"input_ptr": "@rows.npy"}
        assert list(launched.contents) == ["input_ptr"]
        key = report_cache.key_of(launched.digest, Disassembly.SKIP)
        np.save(path, np.ones((64, 1024), np.float32))
        assert report_cache.key_of(launched.digest, Disassembly.SKIP) != key

    def test_values_in_the_argument(self, bare: Capture) -> None:
        given = "fp32[2, 3]:values[1, 2, 3, 4, 5, 6.5]"
        launched = with_launch(bare, Launch(args={"input_ptr": given}))
        assert launched.config.args == {"input_ptr": "fp32[2, 3]"}
        assert launched.config.arguments() == {"input_ptr": given}
        held = npy.read(launched.contents["input_ptr"])
        assert held.dtype == np.float32
        assert held.tolist() == [[1, 2, 3], [4, 5, 6.5]]
        again = with_launch(launched, Launch(args={"input_ptr": "fp32[4]"}))
        assert again.config.arguments() == {"input_ptr": "fp32[4]"}
        assert again.contents == {}

    def test_one_value_for_all_elements(self, bare: Capture) -> None:
        launched = with_launch(bare, Launch(args={"input_ptr": "fp32[2,2]:values[-7]"}))
        assert npy.read(launched.contents["input_ptr"]).tolist() == [[-7, -7]] * 2

    def test_sizes_are_arguments_of_the_launch(self, bare: Capture) -> None:
        given: dict[str, ConstexprValue] = {"input_ptr": "fp32[n, 2]:values[n]", "n": 3}
        launched = with_launch(bare, Launch(args=given))
        assert launched.config.arguments()["input_ptr"] == "fp32[3, 2]:values[3]"
        assert npy.read(launched.contents["input_ptr"]).tolist() == [[3, 3]] * 3

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("int32[3]:values[1, 2]", "2 values for 3 elements"),
            ("int32[3]:values[]", "0 values for 3 elements"),
            ("int32[3]:values[1.5]", r"\[1.5\] are no values of int32"),
            ("int32[3]:values[4294967296]", "no values of int32"),
            ("uint8[3]:values[-1]", "no values of uint8"),
            ("int32[3]:values[x]", "no values of int32"),
            ("bf16[3]:values[1]", "no values of bf16"),
            ("int8[16777217]:values[1]", "more than 16,777,216 elements"),
            ("word[3]:values[1]", "unknown dtype"),
            ("int32[n]:values[1]", "n"),
        ],
    )
    def test_what_no_tensor_holds(self, bare: Capture, given: str, message: str) -> None:
        with pytest.raises(CaptureError, match=message):
            with_launch(bare, Launch(args={"input_ptr": given}))

    @pytest.mark.parametrize("content", [b"", b"text", b"\x93NUMPY\x01\x00"])
    def test_other_files(self, bare: Capture, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "x.npy"
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=r"x\.npy is no \.npy file of numbers"):
            with_launch(bare, Launch(args={"input_ptr": f"@{path}"}))

    def test_objects_are_not_unpickled(self, bare: Capture, tmp_path: Path) -> None:
        path = tmp_path / "x.npy"
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(ArtifactError, match=r"no \.npy file of numbers"):
            with_launch(bare, Launch(args={"input_ptr": f"@{path}"}))

    def test_a_type_that_no_kernel_takes(self, bare: Capture, tmp_path: Path) -> None:
        path = tmp_path / "x.npy"
        np.save(path, np.zeros(3, np.longdouble))
        with pytest.raises(CaptureError, match="no kernel takes a tensor of"):
            with_launch(bare, Launch(args={"input_ptr": f"@{path}"}))

    def test_no_file(self, bare: Capture) -> None:
        with pytest.raises(ArtifactError, match="nowhere"):
            with_launch(bare, Launch(args={"input_ptr": "@nowhere.npy"}))


class TestLibrary:
    def test_inspect_takes_a_launch(self, bare: Capture) -> None:
        assert irlens.inspect(bare).traffic is None
        launch = {"args": SOFTMAX, "grid": [64, 1, 1]}
        report = irlens.inspect(bare, launch=launch, target="h200")
        assert report.traffic is not None
        assert report.traffic.read_bytes == report.traffic.distinct_read_bytes == 64 * 1024 * 4
        assert report.occupancy is not None
        assert report.occupancy.waves is not None
        assert report.roofline is not None
        assert report.roofline.memory_us == pytest.approx(2 * 64 * 1024 * 4 / 4.8e12 * 1e6)

    @pytest.mark.parametrize("launch", [{"arg": {}}, {"args": [1]}, {"grid": 3}])
    def test_a_launch_of_another_form(self, bare: Capture, launch: dict[str, object]) -> None:
        with pytest.raises(CaptureError, match="invalid launch"):
            irlens.inspect(bare, launch=launch)

    def test_numbers_of_any_form_are_the_same_launch(self) -> None:
        assert read_launch({"grid": [1, 2]}) == Launch(grid=(1, 2))
