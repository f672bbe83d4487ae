"""irlens: see what the compiler made of a Triton kernel.

The library is these functions and the records they return (``irlens.model``). Importing it is
cheap: each function imports what it needs, and only compiling needs Triton.
"""

from irlens.version import VERSION

TYPE_CHECKING = False  # as in `typing`, whose import an interrupt would meet
if TYPE_CHECKING:
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


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from irlens import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
