"""Files of ``irlens calibrate``, as ``IRLENS_GPUS`` names them."""

import os
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.model import calibration_files
from irlens.model.calibration import CONSTANTS, RANGE, Calibration
from irlens.model.errors import IrlensError

A100 = Calibration(
    gpu="a100", memory=600.0, l2=250.0, launch=4e-6, dram_share=0.9, port_share=0.8,
    contention=0.3, exponent=4.0, low=0.7, high=1.5, ratio_error=0.25, launches=50, error=0.05,
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that ``IRLENS_GPUS`` names."""
    path = tmp_path / "gpu.json"
    path.write_bytes(msgspec.json.encode(A100))
    monkeypatch.setenv("IRLENS_GPUS", str(path))
    return path


def test_a_calibrated_gpu_has_the_constants_of_its_file(file: Path) -> None:
    before, after = gpus.uncalibrated(A100.gpu).timing, gpus.find(A100.gpu).timing
    assert before is not None
    assert after is not None
    assert not before.measured
    assert after.measured
    for name in (*CONSTANTS, *RANGE):
        assert getattr(after, name) == getattr(A100, name)
    assert after.alu == before.alu
    assert after.sources["memory"] == "irlens calibrate, on this GPU: fitted to 50 launches"
    assert gpus.find("h200") == gpus.uncalibrated("h200")
    assert next(gpu for gpu in gpus.gpus() if gpu.name == A100.gpu).timing == after


def test_a_measured_gpu_can_be_calibrated_again(file: Path) -> None:
    file.write_bytes(msgspec.json.encode(replace(A100, gpu="h200")))
    timing = gpus.find("NVIDIA H200").timing
    assert timing is not None
    assert timing.memory == A100.memory


def test_what_is_remembered_depends_on_the_calibrations(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = calibration_files.digest()
    file.write_bytes(msgspec.json.encode(replace(A100, memory=601.0)))
    os.utime(file, ns=(1, 1))
    second = calibration_files.digest()
    monkeypatch.delenv("IRLENS_GPUS")
    assert len({first, second, calibration_files.digest()}) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not a calibration"),
        (b"[1]", "is not a calibration"),
        (msgspec.json.encode(replace(A100, gpu="a1000")), "no times for a GPU 'a1000'"),
        (msgspec.json.encode(replace(A100, gpu="mi300x")), "no times for a GPU 'mi300x'"),
        (msgspec.json.encode(replace(A100, memory=-1.0)), "a number is not positive"),
        (msgspec.json.encode(replace(A100, l2=900.0)), "memory is nearer than the L2"),
        (msgspec.json.encode(replace(A100, low=2.0)), "does not hold the estimate"),
        (msgspec.json.encode(A100).replace(b'"l2"', b'"l3"'), "unknown field"),
        (msgspec.json.encode(A100).replace(b'"version":1', b'"version":2'), "version"),
    ],
    ids=["broken", "list", "unknown", "amd", "negative", "order", "range", "field", "version"],
)
def test_an_invalid_file_is_refused_with_its_name(content: bytes, message: str, file: Path) -> None:
    file.write_bytes(content)
    os.utime(file, ns=(len(content), 2))
    with pytest.raises(IrlensError, match=message) as caught:
        gpus.find(A100.gpu)
    assert str(file) in caught.value.message
    assert "IRLENS_GPUS" in (caught.value.hint or "")


def test_a_missing_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRLENS_GPUS", str(tmp_path / "none.json"))
    with pytest.raises(IrlensError, match=r"none\.json"):
        gpus.find("a100")


def test_two_files_of_one_gpu_are_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(file.read_bytes())
    monkeypatch.setenv("IRLENS_GPUS", f"{file}{os.pathsep}{other}")
    with pytest.raises(IrlensError, match="both calibrate"):
        gpus.find("a100")
