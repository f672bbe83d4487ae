"""irlens: see what the compiler made of a Triton kernel.

The library is these functions and the records they return (``irlens.model``). Importing it is
cheap: each function imports what it needs, and only compiling needs Triton.
"""

from irlens.library import (
    capture,
    check,
    compare,
    inspect,
    load,
    record,
    scan,
    suggest,
    sweep,
    to_builtins,
)
from irlens.version import VERSION

__all__ = [
    "capture",
    "check",
    "compare",
    "inspect",
    "load",
    "record",
    "scan",
    "suggest",
    "sweep",
    "to_builtins",
]
__version__ = VERSION
