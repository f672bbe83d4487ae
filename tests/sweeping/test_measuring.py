"""Times, with a GPU and a stopwatch that are made up."""

from collections.abc import Callable

import msgspec
import pytest

from irlens.capturing import Device, Request
from irlens.model.config import Target
from irlens.model.errors import IrlensError
from irlens.model.sweep import Timing, Trial
from irlens.sweeping import measuring

T4 = Target(vendor="nvidia", arch="sm_75", warp_size=32, product="t4")


class FakeStopwatch:
    """The larger BLOCK is, the longer it takes; at 13 the launch fails."""

    def __init__(self, kernel: str, device: Device) -> None:
        pass

    def time(self, trial: Trial) -> Trial:
        block = trial.settings["BLOCK"]
        assert isinstance(block, int)
        if block == 13:
            return msgspec.structs.replace(trial, reason="no time: bad luck")
        timing = Timing(median_ms=block, fast_ms=block, slow_ms=block)
        return msgspec.structs.replace(trial, timing=timing)

    def stop(self) -> None:
        pass


@pytest.fixture
def device(h100: Target, monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device(h100, 132, "NVIDIA H100")
    monkeypatch.setattr(measuring, "_Stopwatch", FakeStopwatch)
    monkeypatch.setattr(measuring, "find_device", lambda: found)
    monkeypatch.setattr(measuring, "find_spec", lambda _: object())
    return found


def test_what_fits_on_the_gpu_and_passes_is_timed(
    trial: Callable[..., Trial], device: Device
) -> None:
    trials = [
        trial(settings={"BLOCK": 64}, registers=10),
        trial(settings={"BLOCK": 64}, registers=10, target=T4),
        trial("does not fit", settings={"BLOCK": 512}),
        trial(settings={"BLOCK": 128}, registers=1000),
        trial(settings={"BLOCK": 13}, registers=10),
    ]
    told: list[tuple[int, int]] = []
    filters = ["registers < 100", "time_ms < 1"]
    timed = measuring.measured(trials, filters, "x", device, lambda *far: told.append(far))
    assert [each.timing.median_ms if each.timing else None for each in timed] == [
        64, None, None, None, None,
    ]  # fmt: skip
    assert timed[4].reason == "no time: bad luck"
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_nothing_to_time(trial: Callable[..., Trial], device: Device) -> None:
    with pytest.raises(IrlensError, match="no configuration that passes"):
        measuring.measured([trial("does not fit", settings={"BLOCK": 1})], [], "x", device)
    with pytest.raises(IrlensError, match="bad luck"):
        measuring.measured([trial(settings={"BLOCK": 13})], [], "x", device)


def test_what_measuring_needs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Request(kernel="x", target=device.target)
    elsewhere = Request(kernel="x", target=T4)
    assert measuring.require_device([elsewhere, here]) is device
    with pytest.raises(IrlensError, match="nothing is compiled for the GPU here, NVIDIA H100"):
        measuring.require_device([elsewhere])
    monkeypatch.setattr(measuring, "find_spec", lambda _: None)
    with pytest.raises(IrlensError, match="needs PyTorch"):
        measuring.require_device([here])
    monkeypatch.setattr(measuring, "find_device", lambda: None)
    with pytest.raises(IrlensError, match="needs a GPU"):
        measuring.require_device([here])
