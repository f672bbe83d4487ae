"""Times, with a GPU and a stopwatch that are made up."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from irlens.compiler import Device, Request
from irlens.compiler import local_gpu as device_module
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.compiler.toolchains import triton_version
from irlens.model.capture import Timing
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import IrlensError
from irlens.model.sweep import Measurement, ProviderName, ProviderTime, Rate, Trial
from irlens.sweeps import measuring
from irlens.sweeps.journal import Journal
from irlens.sweeps.measuring import measure_trials
from irlens.sweeps.tasks import Task
from irlens.sweeps.worker_pool import Crash

T4 = Target(vendor="nvidia", arch="sm_75", warp_size=32, product="t4")


class FakeStopwatch:
    """The larger BLOCK is, the longer it takes; 13 fails to launch, and 666 is interrupted."""

    def __init__(
        self,
        kernel: str,
        device: Device,
        against: Sequence[ProviderName],
        requests: Sequence[Request],
    ) -> None:
        self._against = against

    def measure(self, trial: Trial) -> Measurement:
        block = trial.settings["BLOCK"]
        assert isinstance(block, int)
        if block == 666:
            raise KeyboardInterrupt
        if block == 13:
            raise IrlensError("bad luck")
        timing = Timing(median_ms=block, fast_ms=block, slow_ms=block)
        slower = Timing(median_ms=2 * block, fast_ms=2 * block, slow_ms=2 * block)
        others = [ProviderTime(name=name, timing=slower) for name in self._against]
        return Measurement(timing=timing, against=others)

    def stop(self) -> None:
        pass


STOPWATCH = measuring._Stopwatch


@pytest.fixture
def device(h100: Target, monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device(h100, 132, "NVIDIA H100", "GPU-1")
    monkeypatch.setattr(device_module, "nvidia_driver", lambda: "570.1")
    monkeypatch.setattr(measuring, "_Stopwatch", FakeStopwatch)
    monkeypatch.setattr(measuring, "find_device", lambda: found)
    monkeypatch.setattr(measuring, "find_spec", lambda _: object())
    return found


@pytest.fixture
def journal(h100: Target) -> Iterator[Journal]:
    variant = PlannedVariant(Request(kernel="x", target=h100), "3.9.0", {})
    with Journal(Plan("x", [variant], {}), [variant]) as opened:
        yield opened


def medians(trials: list[Trial]) -> list[float | None]:
    return [each.timing.median_ms if each.timing else None for each in trials]


def test_what_fits_on_the_gpu_and_passes_is_timed(
    trial: Callable[..., Trial], device: Device, journal: Journal
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
    known = measuring.JournalTimes(journal, device)
    timed = measure_trials(
        trials, filters, "x", device, known, lambda done, total, _: told.append((done, total))
    )
    assert medians(timed) == [64, None, None, None, None]
    assert timed[4].reason == "no time: bad luck"
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_a_recorded_launch_is_timed_as_it_was(
    trial: Callable[..., Trial], device: Device, h100: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its grid and what its tensors held: the description of the file has neither."""
    tasks: list[Task] = []

    def answered(_pool: object, _function: object, given: list[bytes]) -> list[tuple[int, Crash]]:
        tasks.extend(msgspec.msgpack.decode(each, type=Task) for each in given)
        return [(0, Crash("stopped"))]

    monkeypatch.setattr(measuring, "run_tasks", answered)
    args: dict[str, ConstexprValue] = {"n_elements": 98}
    recorded = Request(
        kernel="x", target=h100, args=args, grid=(7, "n_elements"), contents={"x_ptr": b"12"}
    )
    larger = replace(recorded, settings={"BLOCK": 128}, grid=(3,))  # a grid follows from its tiles
    stopwatch = STOPWATCH("vector_add", device, (), [larger, recorded])
    for given in (args, {"n_elements": 99}):
        with pytest.raises(IrlensError, match="stopped"):
            stopwatch.measure(replace(trial(settings={"BLOCK": 64}), args=given))
    stopwatch.stop()
    same, other = (task.requests[0] for task in tasks)
    assert (same.grid, same.contents, same.settings) == (
        recorded.grid, recorded.contents, {"BLOCK": 64}
    )  # fmt: skip
    assert other.grid == ()


def test_nothing_to_time(trial: Callable[..., Trial], device: Device, journal: Journal) -> None:
    known = measuring.JournalTimes(journal, device)
    with pytest.raises(IrlensError, match="no configuration that passes"):
        measure_trials([trial("does not fit", settings={"BLOCK": 1})], [], "x", device, known)
    with pytest.raises(IrlensError, match="bad luck"):
        measure_trials([trial(settings={"BLOCK": 13})], [], "x", device, known)


def test_an_interrupted_measurement_goes_on(
    trial: Callable[..., Trial], device: Device, journal: Journal, private_store: Path
) -> None:
    trials = [trial(settings={"BLOCK": block}) for block in (64, 13, 128, 666, 32)]
    with pytest.raises(KeyboardInterrupt):
        measure_trials(trials, [], "x", device, measuring.JournalTimes(journal, device))
    (file,) = (private_store / "sweeps").iterdir()
    with file.open("ab") as lines:
        lines.write(b'{"type":"time","number":4,"timing":{"median_ms":1')
    # Were anything timed that is known already, it would take ten times as long now.
    later = [trial(settings={"BLOCK": block}) for block in (640, 13, 1280, 5, 7)]
    told: list[tuple[int, int]] = []
    known = measuring.JournalTimes(journal, device)
    timed = measure_trials(
        later, [], "x", device, known, lambda done, total, _: told.append((done, total))
    )
    assert medians(timed) == [64, None, 128, 5, 7]
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]
    assert (known.other_benches, known.resumable) == ([], True)


def test_rates_are_of_what_the_kernel_needs(
    trial: Callable[..., Trial], device: Device, journal: Journal
) -> None:
    figures = {"distinct_read_bytes": 3e9, "distinct_written_bytes": 1e9, "flops": 2e12}
    trials = [trial(settings={"BLOCK": 500}, floor_us=250_000.0, **figures),
              trial(settings={"BLOCK": 100})]  # fmt: skip
    known = measuring.JournalTimes(journal, device, ["eager"])
    first, second = measure_trials(trials, [], "x", device, known)
    assert first.rate == Rate(gb_per_s=8.0, tflop_per_s=4.0, roofline_share=0.5)
    (eager,) = first.against
    assert eager.rate == Rate(gb_per_s=4.0, tflop_per_s=2.0, roofline_share=0.25)
    assert second.rate == Rate()
    # What was measured against eager mode alone does not answer for more.
    assert set(measuring.JournalTimes(journal, device, ["eager"]).times) == {0, 1}
    assert not measuring.JournalTimes(journal, device, ["eager", "naive"]).times


@pytest.mark.parametrize(("uuid", "driver"), [("GPU-2", "570.1"), ("GPU-1", "580.2")])
def test_times_of_another_gpu_or_driver_do_not_count(
    uuid: str, driver: str, trial: Callable[..., Trial], device: Device, journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    first = [trial(settings={"BLOCK": 64})]
    measure_trials(first, [], "x", device, measuring.JournalTimes(journal, device))
    monkeypatch.setattr(device_module, "nvidia_driver", lambda: driver)
    other = msgspec.structs.replace(device, uuid=uuid)
    known = measuring.JournalTimes(journal, other)
    assert known.other_benches == ["NVIDIA H100, GPU-1, driver 570.1"]
    again = [trial(settings={"BLOCK": 65})]
    assert medians(measure_trials(again, [], "x", other, known)) == [65]
    # Both are there now, each for its own.
    assert medians(
        measure_trials(again, [], "x", other, measuring.JournalTimes(journal, other))
    ) == [65]  # fmt: skip
    monkeypatch.setattr(device_module, "nvidia_driver", lambda: "570.1")
    assert measuring.JournalTimes(journal, device).times[0].timing.median_ms == 64


@pytest.mark.parametrize(("uuid", "driver"), [(None, "570.1"), ("GPU-1", None)])
def test_where_the_driver_does_not_say_what_it_is_nothing_is_kept(
    uuid: str | None, driver: str | None, trial: Callable[..., Trial], device: Device,
    journal: Journal, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(device_module, "nvidia_driver", lambda: driver)
    unknown = msgspec.structs.replace(device, uuid=uuid)
    known = measuring.JournalTimes(journal, unknown)
    assert not known.resumable
    measure_trials([trial(settings={"BLOCK": 64})], [], "x", unknown, known)
    assert journal.times() == {}


def test_what_measuring_needs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Request(kernel="x", target=device.target)
    elsewhere = Request(kernel="x", target=T4)
    assert measuring.require_device([elsewhere, here]) is device
    with pytest.raises(IrlensError, match="this machine's GPU, NVIDIA H100"):
        measuring.require_device([elsewhere])
    installed = msgspec.structs.replace(here, triton=triton_version())
    assert measuring.require_device([installed]) is device
    other = msgspec.structs.replace(here, triton="3.4.0")
    with pytest.raises(IrlensError, match=r"not with 3\.4\.0"):
        measuring.require_device([installed, other])
    monkeypatch.setattr(measuring, "find_spec", lambda _: None)
    with pytest.raises(IrlensError, match="needs PyTorch"):
        measuring.require_device([here])
    monkeypatch.setattr(measuring, "find_device", lambda: None)
    with pytest.raises(IrlensError, match="needs a GPU"):
        measuring.require_device([here])
