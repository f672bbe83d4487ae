"""Calibrates this machine's GPU: times configurations of the samples, and fits its constants."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from irlens import gpus
from irlens.compiler import Device, Request, find_kernel
from irlens.compiler.local_gpu import nvidia_driver
from irlens.compiler.sources.lookup import samples_folder
from irlens.compiler.toolchains import installed_triton
from irlens.gpus import Gpu
from irlens.model.calibration import CONSTANTS, RANGE, Calibration, CalibrationResult, KernelFit
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.sweep import Trial
from irlens.sweeps.inspecting import Counted
from irlens.sweeps.measuring import JournalTimes, Progress, device_for, measure_trials
from irlens.sweeps.run import compile_grid
from irlens.sweeps.selection import Selection
from irlens.sweeps.tasks import decode_answer, encode_task, run_count
from irlens.sweeps.worker_pool import Crash, WorkerPool, run_tasks

if TYPE_CHECKING:  # it loads NumPy
    from irlens.analyze.time.fitting import TimedLaunch

#: The configurations of samples that are timed: such that each constant decides some of them, and
#: that every GPU from sm_75 on holds most of them.
CONFIGURATIONS: dict[str, dict[str, tuple[int, ...]]] = {
    "gelu": {"BLOCK_SIZE": (256, 1024, 8192), "num_warps": (2, 8)},
    "transpose": {"BLOCK_SIZE": (32, 64), "num_warps": (2, 8)},
    "softmax_rows": {"num_warps": (1, 4, 16)},
    "softmax_online": {"BLOCK_SIZE": (1024, 4096), "num_warps": (4, 16)},
    "rms_norm": {"num_warps": (2, 8, 32)},
    "layer_norm": {"num_warps": (4, 16)},
    "layer_norm_looped": {"BLOCK_SIZE": (512, 4096), "num_warps": (2, 8), "num_stages": (3,)},
    "column_sum": {"BLOCK_M": (16, 64), "BLOCK_N": (32, 128), "num_warps": (4,)},
    "exp_sin": {"BLOCK_SIZE": (512, 2048), "num_warps": (2, 8)},
    "matmul_batched": {
        "BLOCK_SIZE_M": (64, 128), "BLOCK_SIZE_N": (64, 128), "BLOCK_SIZE_K": (32,),
        "num_warps": (4,), "num_stages": (3,),
    },
    "matmul_bias_relu": {
        "BLOCK_SIZE_M": (128,), "BLOCK_SIZE_N": (64, 128), "BLOCK_SIZE_K": (32, 64),
        "num_warps": (4, 8), "num_stages": (2, 3),
    },
    "flash_attention": {
        "BLOCK_M": (64, 128), "BLOCK_N": (32, 64), "num_warps": (4, 8), "num_stages": (2,),
    },
}  # fmt: skip

#: Below this number of launches the constants would fit noise.
_FEWEST = 20


def find_gpu() -> tuple[Device, Gpu]:
    """Return the GPU of this machine, and its row without a calibration.

    Raises:
        IrlensError: There is none, irlens estimates no times for it, or PyTorch is missing.
    """
    device = device_for("irlens calibrate", "run it on a machine with the GPU to be calibrated")
    try:
        gpu = gpus.uncalibrated(device.label)
    except UnknownNameError:
        raise IrlensError(
            f"irlens does not know {device.label}: its bandwidth and clock are not in the table",
            hint="irlens targets lists the GPUs that it knows",
        ) from None
    if gpu.timing is None:
        raise IrlensError(f"irlens estimates no times for {gpu.name}: there is nothing to fit")
    if gpu.sm_count != device.sm_count:
        raise IrlensError(
            f"this {device.label} has {device.sm_count} SMs, not {gpu.sm_count}",
            hint="calibrate a whole GPU, not an instance (MIG) of it",
        )
    return device, gpu


def calibrate(
    device: Device, gpu: Gpu, pool: WorkerPool, progress: Progress = lambda *_: None
) -> CalibrationResult:
    """Return the constants of a GPU that fit the times of configurations on it.

    Args:
        pool: The workers that compile, and that count what the launches ask for.

    Raises:
        IrlensError: Too few configurations could be launched, or what fits is implausible.
    """
    measured = _Measured(device, gpu, pool, progress)
    launches = [launch for each in CONFIGURATIONS for launch in measured.launches(each)]
    if len(launches) < _FEWEST:
        raise IrlensError(
            f"{len(launches)} launches have a time and an estimate, too few to fit constants to"
            + "".join(f"; {reason}" for reason in measured.reasons),
        )
    return fit_launches(launches, device, gpu)


class _Measured:
    """Times the configurations of samples, one sample after the other.

    Attributes:
        reasons: Why some have no time or no estimate.
    """

    def __init__(self, device: Device, gpu: Gpu, pool: WorkerPool, progress: Progress) -> None:
        self._device, self._gpu, self._pool, self._progress = device, gpu, pool, progress
        self._done, self._total = 0, sum(len(list(_settings(each))) for each in CONFIGURATIONS)
        self.reasons: dict[str, None] = {}

    def launches(self, sample: str) -> "Iterator[TimedLaunch]":
        """Yield the launches of a sample, those that have a time and an estimate."""
        from irlens.analyze.time.fitting import timed

        kernel = str(samples_folder() / f"{sample}.py")
        requests = [
            Request(kernel=kernel, target=self._gpu.target, sm_count=self._gpu.sm_count,
                    settings=dict(settings))
            for settings in _settings(sample)
        ]  # fmt: skip
        trials = [each for each in self._trials(kernel, requests) if each.timing is not None]
        for trial, counted in zip(trials, self._counted(kernel, trials), strict=True):
            if counted.launch is None or trial.timing is None:
                self.reasons[counted.reason] = None
                continue
            config = {n: value for n, value in trial.settings.items() if isinstance(value, int)}
            us = trial.timing.median_ms * 1e3
            yield timed(counted.launch, us, kind=sample, problem=sample, config=config)

    def _trials(self, kernel: str, requests: Sequence[Request]) -> list[Trial]:
        """Return the configurations that fit, timed."""
        before = self._done
        self._done += len(requests)
        grid = compile_grid(
            requests, self._pool, Selection(),
            lambda _done, _total, running: self._progress(before, self._total, running),
        )  # fmt: skip
        with grid.journal:
            try:
                return measure_trials(
                    grid.trials, (), kernel, self._device, JournalTimes(grid.journal, self._device),
                    lambda done, *_: self._progress(before + done, self._total, ()),
                )  # fmt: skip
            except IrlensError as error:  # none fits, or none could be launched
                self.reasons[error.message] = None
                return []
            finally:
                grid.journal.remove()

    def _counted(self, kernel: str, trials: Sequence[Trial]) -> list[Counted]:
        source = find_kernel(kernel)
        tasks = [
            encode_task(source, [Request(kernel=kernel, target=self._gpu.target,
                        sm_count=self._gpu.sm_count, settings=each.settings, args=each.args)])
            for each in trials
        ]  # fmt: skip
        found = [Counted(launch=None, reason="not counted")] * len(tasks)
        for index, answer in run_tasks(self._pool, run_count, tasks):
            try:
                if isinstance(answer, Crash):
                    raise IrlensError(answer.reason)
                found[index] = decode_answer(answer, Counted)
            except IrlensError as error:
                found[index] = Counted(launch=None, reason=error.message)
        return found


def fit_launches(launches: "Sequence[TimedLaunch]", device: Device, gpu: Gpu) -> CalibrationResult:
    """Return the constants that fit launches on a GPU.

    Raises:
        IrlensError: They are implausible.
    """
    from irlens.analyze.time import fitting

    constants = fitting.fit(launches, gpu)
    fitted = fitting.with_timing(gpu, constants)
    numbers = constants | fitting.fitted_range(launches, fitted)
    facts = {
        "gpu": gpu.name,
        "launches": len(launches),
        "error": fitting.median_error(launches, fitted),
        "triton": installed_triton(),
        "driver": nvidia_driver() or "",
    }
    return CalibrationResult(
        device=device.label,
        calibration=msgspec.convert(facts | numbers, Calibration),
        before={name: getattr(gpu.timing, name) for name in (*CONSTANTS, *RANGE)},
        kernels=list(_fits(launches, gpu, fitted)),
    )


def _fits(launches: "Sequence[TimedLaunch]", gpu: Gpu, fitted: Gpu) -> Iterator[KernelFit]:
    from irlens.analyze.time.fitting import median_error

    for kernel in dict.fromkeys(launch.kind for launch in launches):
        chosen = [launch for launch in launches if launch.kind == kernel]
        yield KernelFit(
            kernel=kernel,
            launches=len(chosen),
            error=median_error(chosen, fitted),
            error_before=median_error(chosen, gpu),
        )


def _settings(sample: str) -> Iterator[dict[str, int]]:
    axes = CONFIGURATIONS[sample]
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))
