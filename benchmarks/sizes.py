"""Time the sample kernels over sizes on this machine's GPU, against PyTorch and their rooflines.

    python benchmarks/sizes.py FOLDER [SECONDS] [STEP]

Writes a sweep of ``irlens sweep --measure`` as JSON for each of vector_add, softmax, matmul and
attention, causal or not, and ``samples.json``: every sample at the sizes of its description.
Softmax has a size every STEP columns (by default 512), matmul every STEP / 2. Nothing new begins
after SECONDS (by default 1200); a sweep that is under way is ended, and leaves no file.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from irlens.compiler import Device, Request, find_device, find_kernel
from irlens.compiler.planning import Plan
from irlens.compiler.sources.description import known_kernels
from irlens.model.errors import IrlensError
from irlens.model.sweep import SWEEP_SCHEMA, Measurement, Result, Sweep, Trial, with_measurement
from irlens.session import Configurations
from irlens.session.session import Session
from irlens.sweeps.tasks import (
    decode_answer,
    encode_task,
    run_inspect,
    run_plan,
    run_timing,
)
from irlens.sweeps.worker_pool import Crash, LocalPool, run_tasks

SQUARE = ("--arg", "N=M", "--arg", "K=M")
CONTEXTS = ("--arg", "n_ctx=512..8192..x2", "--against", "eager")


def sweeps(step: int) -> dict[str, tuple[str, ...]]:
    """Return the arguments of each sweep by name."""
    return {
        "softmax": ("softmax", "--arg", f"n_cols=256..12672..{step}",
                    "--against", "eager,compile,naive"),
        "matmul": ("matmul", "--arg", f"M={step // 2}..4096..{step // 2}", *SQUARE,
                   "--against", "eager"),
        "vector_add": ("vector_add", "--arg", "n_elements=2^12..2^27",
                       "--against", "eager,compile"),
        # Two sweeps: the fastest configuration of a size is one of several that do the same.
        "attention": ("flash_attention", *CONTEXTS, "--set", "CAUSAL=false"),
        "attention_causal": ("flash_attention", *CONTEXTS, "--set", "CAUSAL=true"),
    }  # fmt: skip


def measure_samples(device: Device, until: float) -> Iterator[Sweep]:
    """Yield every sample, compiled for and timed on the GPU, at the sizes of its description."""
    session, target = Session(), gpu_name(device)
    compilers, stopwatch = LocalPool(len(os.sched_getaffinity(0))), LocalPool(1)
    try:
        for spec in known_kernels():
            if time.monotonic() > until:
                return
            source = find_kernel(spec)
            requests = list(session.requests(spec, Configurations(targets=(target,), run=False)))
            ((_, planned),) = run_tasks(compilers, run_plan, [encode_task(source, requests)])
            trials = []
            try:
                if isinstance(planned, Crash):
                    raise IrlensError(planned.reason)
                variants = [each.request for each in decode_answer(planned, Plan).variants]
                compiled = compile_all(spec, variants, compilers)
                trials = [measure(spec, each, stopwatch, device) for each in compiled]
            except IrlensError as error:
                print(f"{spec}: {error.message}", flush=True)
            yield Sweep(
                schema=SWEEP_SCHEMA, kernel=spec, targets=[requests[0].target], where=[],
                filters=[], trials=trials, excluded=0, filtered=0, device=device.label,
            )  # fmt: skip
    finally:
        compilers.stop()
        stopwatch.stop()


def compile_all(spec: str, requests: Sequence[Request], pool: LocalPool) -> list[Trial]:
    """Return each variant compiled and inspected."""
    source, trials = find_kernel(spec), []
    tasks = [encode_task(source, [each]) for each in requests]
    for index, answer in sorted(run_tasks(pool, run_inspect, tasks), key=lambda each: each[0]):
        if isinstance(answer, Crash):
            raise IrlensError(answer.reason)
        (result,) = decode_answer(answer, list[Result])
        trials.append(
            Trial(
                label=" ".join(f"{n}={value}" for n, value in requests[index].settings.items()),
                target=requests[index].target,
                settings=requests[index].settings,
                args=requests[index].args,
                **msgspec.structs.asdict(result),
            )
        )
    return trials


def measure(spec: str, trial: Trial, pool: LocalPool, device: Device) -> Trial:
    """Return a trial with its time, or with the reason why it has none."""
    source = find_kernel(spec)
    request = Request(
        kernel=source.function, target=trial.target, sm_count=device.sm_count,
        settings=trial.settings, args=trial.args,
    )  # fmt: skip
    task = encode_task(source, [request], ("eager",))
    ((_, answer),) = run_tasks(pool, run_timing, [task])
    try:
        if isinstance(answer, Crash):
            raise IrlensError(answer.reason)
        return with_measurement(trial, decode_answer(answer, Measurement))
    except IrlensError as error:
        print(f"{spec}: {error.message}", flush=True)
        return msgspec.structs.replace(trial, reason=f"no time: {error.message}")


def gpu_name(device: Device) -> str:
    """Return the name of the GPU for ``--target``: its product, whose roofline is known."""
    return Session().default_gpu(device).name


def main(folder: Path, seconds: float, step: int) -> None:
    """Run everything."""
    device = find_device()
    if device is None:
        sys.exit("this machine has no GPU")
    began = time.monotonic()
    target = gpu_name(device)
    print(f"{device.label}: {target}", flush=True)
    until = began + seconds
    first, second, *others = sweeps(step).items()
    for name, arguments in (first, second):
        run(folder / f"{name}.json", arguments, target, until)
    samples = list(measure_samples(device, until))
    (folder / "samples.json").write_bytes(msgspec.json.encode(samples))
    print(f"{len(samples)} samples, {until - time.monotonic():.0f} s left", flush=True)
    for name, arguments in others:
        run(folder / f"{name}.json", arguments, target, until)


def run(file: Path, arguments: Sequence[str], target: str, until: float) -> None:
    """Write a sweep, if there is time for it."""
    left = until - time.monotonic()
    if left <= 0:
        print(f"{file.stem}: no time left", flush=True)
        return
    command = [
        sys.executable, "-m", "irlens", "sweep", *arguments, "-t", target, "--measure",
        "--format", "json", "-o", str(file),
    ]  # fmt: skip
    try:
        code = subprocess.run(command, timeout=left, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"{file.stem}: ended", flush=True)
    else:
        print(f"{file.stem}: exit {code}, {until - time.monotonic():.0f} s left", flush=True)


if __name__ == "__main__":
    folder, seconds, step = [*sys.argv[1:], *("1200", "512")[len(sys.argv) - 2 :]]
    main(Path(folder), float(seconds), int(step))
