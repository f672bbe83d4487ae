"""Times of the configurations that fit, on the GPU of this machine, one after the other."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TypeAlias

import msgspec

from irlens.compiler import Device, Request, find_device, find_kernel
from irlens.compiler.local_gpu import timing_identity
from irlens.compiler.toolchains import environments
from irlens.compiler.toolchains.versions import installed_triton
from irlens.model.errors import IrlensError
from irlens.model.sweep import Timing, Trial
from irlens.sweep.constraints import passes, waits_for_time
from irlens.sweep.crew import Death, LocalCrew, answers
from irlens.sweep.journal import Journal
from irlens.sweep.work import Timed, order, read, take_time

Tell: TypeAlias = Callable[[int, int], None]


def require_device(requests: Sequence[Request]) -> Device:
    """Return the GPU to measure on.

    Raises:
        IrlensError: There is none, or no PyTorch to launch with, or no request is for it, or one
            is for another Triton than this process's.
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
            f"--measure: nothing is compiled for the GPU here, {device.label}",
            hint=f"ask for --target {arch}, too",
        )
    here = installed_triton()
    for triton in dict.fromkeys(request.triton for request in requests):
        if triton is not None and environments.identify(triton) != here:
            raise IrlensError(
                f"--measure launches with the Triton that is installed here, {here}, "
                f"and not with {triton}",
                hint="leave one of the two out",
            )
    return device


class Known:
    """The times that are in a sweep's journal and may stand beside new ones.

    Args:
        journal: The sweep's.
        device: The GPU: only its own times count, and only those under the same driver.

    Attributes:
        times: They, by the number of the trial.
        elsewhere: Where there are others that do not count: the GPU and driver that each was
            taken with.
        lasting: Whether new times will count if this run is interrupted, too: not where the
            driver does not say which it is.
    """

    def __init__(self, journal: Journal, device: Device) -> None:
        taken = journal.times()
        self._journal, self._bench = journal, timing_identity(device)
        self.lasting = self._bench is not None
        self.times = taken.pop(self._bench, {}) if self._bench is not None else {}
        self.elsewhere = sorted(taken)

    def add(self, number: int, timing: Timing | None) -> None:
        """Write down a time, if it was possible to take it."""
        if timing is not None and self._bench is not None:
            self._journal.note_time(number, timing, self._bench)


def measured(
    trials: Sequence[Trial],
    filters: Sequence[str],
    kernel: str,
    device: Device,
    known: Known,
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
        known: The times that an interrupted run has taken, and where those of this one go.
        tell: Is told how many are done, those included, of how many.

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
    for index in there:
        timed[index] = msgspec.structs.replace(trials[index], timing=known.times.get(index))
    left = [index for index in there if timed[index].timing is None]
    stopwatch = _Stopwatch(kernel, device)
    tell(len(there) - len(left), len(there))
    try:
        for done, index in enumerate(left, len(there) - len(left) + 1):
            timed[index] = stopwatch.time(trials[index])
            known.add(index, timed[index].timing)
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
        self._source = find_kernel(kernel)
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
