"""The processors that this process may use."""

import os


def count() -> int:
    """Return the number of processors that this process may use, 1 where that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
