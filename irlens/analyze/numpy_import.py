"""Imports NumPy without the processor time that its linear algebra takes to start."""

import os
import sys

#: The logarithm to base 2 of the clock cycles for which an idle thread of OpenBLAS polls for work
#: before it sleeps. OpenBLAS reads it once, when it is loaded; 4 is the least that it accepts.
_VARIABLE, _LEAST = "OPENBLAS_THREAD_TIMEOUT", "4"


def load_numpy() -> None:
    """Import NumPy; irlens evaluates addresses with it, and no linear algebra.

    NumPy's OpenBLAS starts a thread for each further processor, and each polls for work for tens of
    milliseconds: more than the rest of the import takes. Results do not depend on it, and child
    processes inherit nothing.
    """
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = _LEAST
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]
