"""irlens: see what the compiler made of a Triton kernel.

The library is these functions and the records they return (``irlens.model``). Importing it is
cheap: each function imports what it needs, and only compiling needs Triton.
"""

from irlens.library import capture, compare, inspect, load, scan, suggest, to_builtins
from irlens.version import VERSION

__all__ = ["capture", "compare", "inspect", "load", "scan", "suggest", "to_builtins"]
__version__ = VERSION
