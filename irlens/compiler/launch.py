"""What is noted of a kernel that a program launches."""

import msgspec

from irlens.model.config import ConstexprValue


class Launch(msgspec.Struct, frozen=True):
    """The first launch of a compiled variant.

    Attributes:
        entry: Triton's cache entry, an absolute directory.
        file: The Python file that defines it; ``None`` if another process has compiled it.
        constexprs: Every constexpr parameter's value.
        args: Every run-time argument as a manifest has it.
        grid: CTAs in x, y and z; ``None`` where it was only compiled ahead (``warmup``).
    """

    entry: str
    file: str | None
    constexprs: dict[str, ConstexprValue]
    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None
