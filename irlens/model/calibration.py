"""The records of ``irlens calibrate``: a GPU's constants, and how well they fit its launches."""

from typing import Literal

import msgspec

#: The constants of ``irlens.gpus.timing.Timing`` that a calibration fits, and the range that it
#: finds, in the order that they are shown in.
CONSTANTS = ("memory", "l2", "launch", "dram_share", "port_share", "contention", "exponent")
RANGE = ("low", "high", "ratio_error")


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The constants of one product, as ``irlens calibrate -o FILE`` writes them.

    The numbers are fields of ``irlens.gpus.timing.Timing``, in its units.

    Attributes:
        gpu: The product: "a100".
        launches: Launches that the constants are fitted to.
        error: Median of |ln(estimate / time)| over them.
        triton: The Triton that compiled them.
        driver: The version of the GPU's driver; empty if it does not say.
        version: Version of the file's format and of the model that the constants are for.
    """

    gpu: str
    memory: float
    l2: float
    launch: float
    dram_share: float
    port_share: float
    contention: float
    exponent: float
    low: float
    high: float
    ratio_error: float
    launches: int
    error: float
    triton: str = ""
    driver: str = ""
    version: Literal[1] = 1


class KernelFit(msgspec.Struct, frozen=True, kw_only=True):
    """How near the estimates of one kernel's launches are to their times.

    Attributes:
        kernel: The sample's name.
        launches: Configurations that were timed.
        error: Median of |ln(estimate / time)| with the fitted constants.
        error_before: The same with the constants that irlens has without the calibration.
    """

    kernel: str
    launches: int
    error: float
    error_before: float


class CalibrationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What ``irlens calibrate`` found.

    Attributes:
        device: The GPU's name from its driver.
        calibration: What its file holds.
        before: The same fields without the calibration, by name.
        kernels: Each kernel that was launched.
    """

    device: str
    calibration: Calibration
    before: dict[str, float]
    kernels: list[KernelFit]
