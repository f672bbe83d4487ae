"""irlens: see what the compiler made of a Triton kernel.

The library is these functions and the records they return (``irlens.model``). Importing it is
cheap: each function imports what it needs, and only compiling needs Triton.
"""

from irlens.library import (
    capture,
    check,
    compare,
    inspect,
    limits,
    load,
    passes,
    record,
    scan,
    suggest,
    sweep,
    to_builtins,
    variants,
)
from irlens.version import VERSION

__all__ = [
    "capture",
    "check",
    "compare",
    "inspect",
    "limits",
    "load",
    "passes",
    "record",
    "scan",
    "suggest",
    "sweep",
    "to_builtins",
    "variants",
]
__version__ = VERSION
