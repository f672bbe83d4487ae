"""A kernel's roofline: the least time that its memory traffic and its operations take."""

from typing import Literal

import msgspec


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bounds of a launch's time, in microseconds; what is unknown is ``None``.

    Attributes:
        memory_us: The DRAM's bytes at its theoretical bandwidth.
        compute_us: The operations at their units' peak rates.
        floor_us: The larger of the two.
        bound: Which of the two the floor is.
        compute_type: The operations whose units take longest, and so make ``compute_us``: "fp16
            tensor", "fp32"; empty where there are none, or they are unknown.
        flops_per_byte: Operations for each byte of DRAM traffic.
        reason: Why something is unknown.
    """

    memory_us: float | None = None
    compute_us: float | None = None
    floor_us: float | None = None
    bound: Literal["memory", "compute"] | None = None
    compute_type: str = ""
    flops_per_byte: float | None = None
    reason: str | None = None
