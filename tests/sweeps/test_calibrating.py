"""``irlens calibrate`` with a stopwatch that knows what an H200 took."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from irlens import gpus
from irlens.compiler import Device, Request, find_device
from irlens.compiler import local_gpu as device_module
from irlens.model.capture import Timing
from irlens.model.errors import IrlensError
from irlens.model.sweep import Measurement, ProviderName, Trial
from irlens.sweeps import calibrating, measuring
from irlens.sweeps.calibrating import calibrate, find_gpu
from irlens.sweeps.worker_pool import LocalPool

H200 = gpus.find("h200")
DEVICE = Device(H200.target, 132, "NVIDIA H200", "GPU-1")
#: Microseconds that an H200 takes, by configuration.
TIMES = {
    (Path(row["problem"]).stem, frozenset(row["config"].items())): row["us"]
    for row in json.loads((Path(__file__).parents[1] / "data" / "h200" / "spaces.json").read_text())
}
FEW = {
    "gelu": {"BLOCK_SIZE": (1024,), "num_warps": (2, 8)},
    "softmax_rows": {"num_warps": (4,)},
}


class Stopwatch:
    """Looks times up."""

    def __init__(
        self,
        kernel: str,
        device: Device,
        against: Sequence[ProviderName],
        requests: Sequence[Request],
    ) -> None:
        self._sample = Path(kernel).stem

    def measure(self, trial: Trial) -> Measurement:
        ms = TIMES[self._sample, frozenset(trial.settings.items())] / 1e3
        return Measurement(timing=Timing(median_ms=ms, fast_ms=ms, slow_ms=ms))

    def stop(self) -> None:
        pass


class NoLaunch(Stopwatch):
    """Launches nothing."""

    def measure(self, trial: Trial) -> Measurement:
        raise IrlensError("the driver is gone")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    monkeypatch.setattr(device_module, "nvidia_driver", lambda: "570.1")
    monkeypatch.setattr(calibrating, "nvidia_driver", lambda: "570.1")
    monkeypatch.setattr(calibrating, "CONFIGURATIONS", FEW)
    monkeypatch.setattr(calibrating, "_FEWEST", 3)
    monkeypatch.setattr(measuring, "_Stopwatch", Stopwatch)
    monkeypatch.setattr(measuring, "find_device", lambda: DEVICE)
    monkeypatch.setattr(measuring, "find_spec", lambda _: object())
    return DEVICE


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    opened = LocalPool(2)
    yield opened
    opened.stop()


def test_samples_are_compiled_timed_and_counted(device: Device, pool: LocalPool) -> None:
    seen: list[tuple[int, int]] = []
    found = calibrate(*find_gpu(), pool, lambda done, total, _: seen.append((done, total)))
    assert found.device == "NVIDIA H200"
    calibration = found.calibration
    assert (calibration.gpu, calibration.launches) == ("h200", 3)
    assert calibration.driver == "570.1"
    assert calibration.error < 0.03  # three launches and seven constants
    assert {each.kernel: each.launches for each in found.kernels} == {
        "gelu": 2, "softmax_rows": 1,
    }  # fmt: skip
    assert all(each.error <= each.error_before + 0.01 for each in found.kernels)
    assert H200.timing is not None
    assert found.before["memory"] == H200.timing.memory
    assert seen[-1] == (3, 3)
    assert seen == sorted(seen)


def test_too_few_launches_are_refused_with_the_reason(
    device: Device, pool: LocalPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_Stopwatch", NoLaunch)
    with pytest.raises(IrlensError, match=r"0 launches .*the driver is gone"):
        calibrate(*find_gpu(), pool)


@pytest.mark.parametrize(
    ("name", "sms", "message"),
    [
        ("NVIDIA H200", 66, "has 66 SMs, not 132"),
        ("NVIDIA Titan 9000", 132, "does not know NVIDIA Titan 9000"),
        ("mi300x", 304, "estimates no times for mi300x"),
    ],
)
def test_a_gpu_without_a_row_is_refused(
    name: str, sms: int, message: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "find_device", lambda: Device(H200.target, sms, name))
    with pytest.raises(IrlensError, match=message):
        find_gpu()


def test_without_a_gpu_there_is_one_line_and_no_file(tmp_path: Path) -> None:
    if find_device() is not None:
        pytest.skip("this machine has a GPU")
    ran = subprocess.run(
        [sys.executable, "-m", "irlens", "calibrate", "-o", str(tmp_path / "gpu.json")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[0] == (
        "irlens: error: irlens calibrate needs a GPU, and this machine has none"
    )
    assert not list(tmp_path.iterdir())
