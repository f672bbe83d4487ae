"""Times of the configurations that fit, on the GPU of this machine, one after the other."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TypeAlias

import msgspec

from irlens.capturing import Device, Request, describe, find_device
from irlens.model.errors import IrlensError
from irlens.model.sweep import Trial
from irlens.sweeping.constraints import passes, waits_for_time
from irlens.sweeping.crew import Death, LocalCrew, answers
from irlens.sweeping.work import Timed, order, read, take_time

Tell: TypeAlias = Callable[[int, int], None]


def require_device(requests: Sequence[Request]) -> Device:
    """Return the GPU to measure on.

    Raises:
        IrlensError: There is none, or no PyTorch to launch with, or no request is for it.
    """
    device = find_device()
    if device is None:
        raise IrlensError(
            "--measure needs a GPU, and there is none here",
            hint="leave it out: everything else needs no GPU",
        )
    if find_spec("torch") is None:
        raise IrlensError(
            "--measure needs PyTorch, which is not installed", hint='pip install "irlens[run]"'
        )
    arch = device.target.arch
    if all(request.target.arch != arch for request in requests):
        raise IrlensError(
            f"--measure: nothing is compiled for the GPU here, {device.name or arch}",
            hint=f"ask for --target {arch}, too",
        )
    return device


def measured(
    trials: Sequence[Trial],
    filters: Sequence[str],
    kernel: str,
    device: Device,
    tell: Tell = lambda *_: None,
) -> list[Trial]:
    """Return the trials, with a time where they fit on the device and the filters leave them.

    One process launches everything, so that nothing else disturbs the GPU; after a launch that
    fails, which may leave the driver's context broken, another one goes on.

    Args:
        trials: What was found.
        filters: Constraints on results; those that speak of the time cannot be held yet.
        kernel: The kernel as it was named.
        device: The GPU.
        tell: Is told how many are done, of how many.

    Raises:
        IrlensError: No configuration fits, or none could be launched.
    """
    arch, early = device.target.arch, [each for each in filters if not waits_for_time(each)]
    there = [
        index
        for index, trial in enumerate(trials)
        if trial.target.arch == arch and trial.outcome == "fits" and passes(trial, early)
    ]
    if not there:
        raise IrlensError(
            f"--measure: no configuration that passes the filters fits on the GPU here, {arch}",
            hint="look at the table without --measure",
        )
    timed = list(trials)
    stopwatch = _Stopwatch(kernel, device)
    tell(0, len(there))
    try:
        for done, index in enumerate(there, 1):
            timed[index] = stopwatch.time(trials[index])
            tell(done, len(there))
    finally:
        stopwatch.stop()
    if all(trial.timing is None for trial in timed):
        failed = timed[there[0]]
        raise IrlensError(f"--measure: {failed.reason}", hint=failed.hint or None)
    return timed


class _Stopwatch:
    """A process that has the GPU for itself."""

    def __init__(self, kernel: str, device: Device) -> None:
        self._source = describe.find_kernel(kernel)
        self._device = device
        self._crew = LocalCrew(1)

    def time(self, trial: Trial) -> Trial:
        """Return the trial with its time, or with the reason why it has none."""
        request = Request(
            kernel=self._source.function,
            target=trial.target,
            sm_count=self._device.sm_count,
            settings=trial.settings,
            args=trial.args,
        )
        ((_, answer),) = answers(self._crew, take_time, [order(self._source, [request])])
        try:
            if isinstance(answer, Death):
                raise IrlensError(answer.reason, hint=answer.last_words)
            return msgspec.structs.replace(trial, timing=read(answer, Timed).timing)
        except IrlensError as error:
            self.stop()
            self._crew = LocalCrew(1)
            reason = f"no time: {error.message}"
            return msgspec.structs.replace(trial, reason=reason, hint=error.hint or "")

    def stop(self) -> None:
        """Let the process go."""
        self._crew.stop()
