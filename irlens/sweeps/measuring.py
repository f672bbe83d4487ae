"""Times the configurations that fit, one after the other, on the GPU of this machine."""

from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import TypeAlias

import msgspec

from irlens.compiler import Device, Request, find_device, find_kernel
from irlens.compiler.local_gpu import timing_identity
from irlens.compiler.toolchains import environments, installed_triton
from irlens.model.config import identity_of
from irlens.model.errors import IrlensError, NotInstalledError
from irlens.model.sweep import Measurement, ProviderName, ProviderTime, Trial, with_measurement
from irlens.sweeps.journal import Journal
from irlens.sweeps.selection import needs_time, passes
from irlens.sweeps.tasks import decode_answer, encode_task, run_timing
from irlens.sweeps.worker_pool import Crash, LocalPool, run_tasks

#: Takes the number of completed configurations, their total, and what is being worked on with the
#: seconds that it has taken so far.
Progress: TypeAlias = Callable[[int, int, Sequence[tuple[str, float]]], None]


def device_for(purpose: str, hint: str) -> Device:
    """Return the GPU of this machine, for something that launches kernels.

    Args:
        purpose: What needs it: "--measure".
        hint: What to do where there is none.

    Raises:
        IrlensError: There is no GPU, or PyTorch is not installed.
    """
    device = find_device()
    if device is None:
        raise IrlensError(f"{purpose} needs a GPU, and this machine has none", hint=hint)
    if find_spec("torch") is None:
        raise NotInstalledError(purpose)
    return device


def require_device(requests: Sequence[Request]) -> Device:
    """Return the GPU to measure on.

    Raises:
        IrlensError: There is no GPU, PyTorch is not installed, no request is for the GPU, or one
            is for another Triton than this process's.
    """
    device = device_for("--measure", "run without --measure: everything else needs no GPU")
    arch = device.target.arch
    if all(request.target.arch != arch for request in requests):
        raise IrlensError(
            f"--measure: no configuration is compiled for this machine's GPU, {device.label}",
            hint=f"add --target {arch}",
        )
    here = installed_triton()
    for triton in dict.fromkeys(request.triton for request in requests):
        if triton is not None and environments.identify(triton) != here:
            raise IrlensError(
                f"--measure launches with the installed Triton, {here}, not with {triton}",
                hint="remove --measure or --triton",
            )
    return device


class JournalTimes:
    """The times in a sweep's journal that are comparable with new ones.

    Args:
        device: The GPU: times of another GPU or driver do not count.
        against: Other implementations: what was not measured against them does not count.

    Attributes:
        times: Comparable measurements by index of the trial.
        other_benches: GPU and driver of the times that do not count.
        resumable: Whether new times count if this run is interrupted: the driver has to identify
            itself.
    """

    def __init__(
        self, journal: Journal, device: Device, against: Sequence[ProviderName] = ()
    ) -> None:
        taken = journal.times()
        self._journal, self._bench = journal, timing_identity(device)
        self.resumable = self._bench is not None
        mine = taken.pop(self._bench, {}) if self._bench is not None else {}
        self.against = tuple(against)
        self.times = {
            number: each
            for number, each in mine.items()
            if tuple(other.name for other in each.against) == self.against
        }
        self.other_benches = sorted(taken)

    def add(self, number: int, measurement: Measurement) -> None:
        """Append a measurement to the journal."""
        if self._bench is not None:
            self._journal.add_time(number, measurement, self._bench)


def measure_trials(
    trials: Sequence[Trial],
    filters: Sequence[str],
    kernel: str,
    device: Device,
    known: JournalTimes,
    progress: Progress = lambda *_: None,
    left_out: Collection[int] = (),
    requests: Sequence[Request] = (),
) -> list[Trial]:
    """Return the trials, with a time where they fit on the device and pass the filters.

    One process launches everything, so that nothing else disturbs the GPU. A failed launch may
    leave the driver's context broken: a new process continues after it.

    Args:
        filters: Constraints on results; those on the time are ignored here.
        known: The times of an interrupted run, to which new ones are added, and what to measure
            against.
        progress: Receives the number of timed trials, known ones included, and their total.
        left_out: Trials, by index, that are not to be timed.
        requests: What the trials were compiled for, which says what they are launched with.

    Raises:
        IrlensError: No configuration fits, or none could be launched.
    """
    arch, early = device.target.arch, [each for each in filters if not needs_time(each)]
    chosen = [
        index
        for index, trial in enumerate(trials)
        if index not in left_out
        and trial.target.arch == arch
        and trial.outcome == "fits"
        and passes(trial, early)
    ]
    if not chosen:
        raise IrlensError(
            f"--measure: no configuration that passes the filters fits this machine's GPU, {arch}",
            hint="run without --measure to see the table",
        )
    timed = list(trials)
    for index in chosen:
        if index in known.times:
            timed[index] = with_measurement(trials[index], known.times[index])
    left = [index for index in chosen if index not in known.times]
    stopwatch = _Stopwatch(kernel, device, known.against, requests)
    progress(len(chosen) - len(left), len(chosen), ())
    try:
        for done, index in enumerate(left, len(chosen) - len(left) + 1):
            try:
                measurement = stopwatch.measure(trials[index])
                timed[index] = with_measurement(trials[index], measurement)
                known.add(index, measurement)
            except IrlensError as error:
                reason, hint = f"no time: {error.message}", error.hint or ""
                timed[index] = msgspec.structs.replace(trials[index], reason=reason, hint=hint)
            progress(done, len(chosen), ())
    finally:
        stopwatch.stop()
    if all(trial.timing is None for trial in timed):
        failed = timed[chosen[0]]
        raise IrlensError(f"--measure: {failed.reason}", hint=failed.hint or None)
    return timed


class _Stopwatch:
    """A worker process that launches and times configurations.

    Other implementations are timed once for all configurations with the same inputs.
    """

    def __init__(
        self,
        kernel: str,
        device: Device,
        against: Sequence[ProviderName],
        requests: Sequence[Request],
    ) -> None:
        self._requests = requests
        self._source = find_kernel(kernel)
        self._device = device
        self._against = against
        self._times: dict[bytes, list[ProviderTime]] = {}
        self._pool = LocalPool(1)

    def measure(self, trial: Trial) -> Measurement:
        """Return a trial's times.

        Raises:
            IrlensError: It could not be launched, or its results are wrong.
        """
        request = Request(
            kernel=self._source.function,
            target=trial.target,
            sm_count=self._device.sm_count,
            settings=trial.settings,
            args=trial.args,
        )
        for each in self._requests:
            alike = each.target == trial.target and each.args == trial.args
            if alike and each.settings.items() <= trial.settings.items():
                given = {"grid": each.grid, "contents": each.contents}
                request = msgspec.structs.replace(request, **given)
                break
        key = self._inputs_key(trial)
        against = () if key in self._times else self._against
        task = encode_task(self._source, [request], against)
        ((_, answer),) = run_tasks(self._pool, run_timing, [task])
        try:
            if isinstance(answer, Crash):
                raise IrlensError(answer.reason, hint=answer.last_line)
            measurement = decode_answer(answer, Measurement)
        except IrlensError:
            self.stop()
            self._pool = LocalPool(1)
            raise
        others = self._times.setdefault(key, measurement.against)
        return msgspec.structs.replace(measurement, against=others)

    def stop(self) -> None:
        """Stop the process."""
        self._pool.stop()

    def _inputs_key(self, trial: Trial) -> bytes:
        """Return what the inputs and the results of a trial depend on.

        A reference may take the constexprs that the description names, and no others.
        """
        described = self._source.description
        names = described.constexprs if described is not None else {}
        chosen = {name: value for name, value in trial.settings.items() if name in names}
        return identity_of([trial.args, chosen])
