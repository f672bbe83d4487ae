"""Imports NumPy without the threads and the memory that its linear algebra takes to start."""

import mmap
import os
import sys

#: How many threads OpenBLAS starts. It reads the variable once, when it is loaded.
_VARIABLE = "OPENBLAS_NUM_THREADS"
#: Bytes of address space that NumPy and OpenBLAS with one thread take.
_ROOM = 96 << 20


def load_numpy() -> None:
    """Import NumPy; irlens evaluates addresses with it, and no linear algebra.

    NumPy's OpenBLAS starts a thread for each further processor, and each takes memory and polls for
    work for tens of milliseconds: more than the rest of the import takes. Where memory is short,
    OpenBLAS ends the process. Results do not depend on it, and child processes inherit nothing.

    Raises:
        MemoryError: There is not enough address space.
    """
    if "numpy" in sys.modules:
        return
    try:
        mmap.mmap(-1, _ROOM).close()
    except OSError as error:
        raise MemoryError from error
    if _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]
