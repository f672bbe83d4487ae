"""``irlens calibrate``: fit a GPU's constants to launches on it, so that estimates fit it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from irlens.cli import Exit, output
from irlens.cli.formats import ListFormat, list_format_option
from irlens.cli.options import file_option, jobs_option
from irlens.cli.output import interruptible, write_json

if TYPE_CHECKING:
    from irlens.model.calibration import CalibrationResult

_HELP = """Fit the constants that times are estimated with to this machine's GPU.

irlens's constants are fitted to an H200. Other NVIDIA GPUs are assumed to have its latencies and
overheads, and estimates for them state a wide range. This command times 62 configurations of
sample kernels here, which takes a few minutes, fits the constants to them, and shows how near the
estimates then are. With -o it writes a file that applies on any machine, with or without the GPU,
while IRLENS_GPUS names it (several files are separated as in PATH).

\b
irlens calibrate -o a100.json
IRLENS_GPUS=a100.json irlens inspect softmax --target a100
"""

_UNITS = {"memory": "cycles", "l2": "cycles", "launch": "µs"}


@click.command(help=_HELP)
@list_format_option("Select the output format.")
@file_option(
    "-o", "--output", "destination", tells="Write the calibration to FILE, for IRLENS_GPUS."
)
@jobs_option
def command(form: ListFormat, destination: Path | None, jobs: int | None) -> Exit:
    """Time the configurations, and fit the constants."""
    from irlens.sweeps.calibrating import calibrate, find_gpu
    from irlens.sweeps.worker_pool import LocalPool

    device, gpu = find_gpu()
    pool = LocalPool(jobs)
    try:
        with interruptible("calibrating", "timed", resumes=False) as update:
            found = calibrate(device, gpu, pool, update)
    finally:
        pool.stop()
    if destination is not None:
        write_json(found.calibration, destination)
    if str(destination) == "-":
        return Exit.OK
    if form == "json":
        write_json(found)
    else:
        output.write(_text(found), None)
    if destination is not None:
        output.note(f"wrote {destination}; set IRLENS_GPUS={destination} to apply it")
    return Exit.OK


def _text(found: "CalibrationResult") -> str:
    from irlens.model.calibration import CONSTANTS, RANGE

    fitted = found.calibration
    facts = [f"Triton {fitted.triton}", f"{fitted.launches} launches"]
    facts += [f"driver {fitted.driver}"] if fitted.driver else []
    constants = output.table(
        ("constant", "fitted", "before", "unit"),
        [
            (
                name, _number(name, getattr(fitted, name)), _number(name, found.before[name]),
                _UNITS.get(name, ""),
            )
            for name in (*CONSTANTS, *RANGE)
        ],
        right={1, 2},
    )  # fmt: skip
    kernels = output.table(
        ("kernel", "launches", "median error", "before"),
        [
            (each.kernel, str(each.launches), f"{each.error:.1%}", f"{each.error_before:.1%}")
            for each in found.kernels
        ],
        right={1, 2, 3},
    )
    title = f"{found.device} ({fitted.gpu})   " + "   ".join(facts)
    return "\n".join((title, "", constants, kernels))


def _number(name: str, value: float) -> str:
    return f"{value * 1e6:.2f}" if name == "launch" else f"{value:.3g}"
