"""The records of a compilation: its target and its configuration."""

from typing import Literal, TypeAlias

import msgspec

Vendor: TypeAlias = Literal["nvidia", "amd"]
ConstexprValue: TypeAlias = bool | int | float | str | None


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The GPU a kernel was compiled for.

    Attributes:
        vendor: "nvidia" or "amd".
        arch: The compiler's name: "sm_90", "gfx942".
        warp_size: Threads in a warp (NVIDIA), lanes in a wave (AMD).
        product: The product's name ("h100") where it is requested or known.
    """

    vendor: Vendor
    arch: str
    warp_size: int
    product: str | None = None

    @property
    def name(self) -> str:
        """The name to request it by: the product, or else the architecture."""
        return self.product or self.arch


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the kernel was compiled and would be launched. ``None`` is "unknown".

    Attributes:
        num_warps: Requested warps per CTA, without the additional warps that run partitions of a
            warp-specialized kernel.
        num_stages: Requested pipeline stages of the whole kernel; ``None`` in Gluon, which has no
            such option.
        num_ctas: CTAs per cluster.
        maxnreg: Register cap given to the compiler, per thread.
        constexprs: Values of the kernel's ``tl.constexpr`` parameters.
        args: Run-time arguments: an integer or float, or a tensor as "fp32[4096, 1024]".
        grid: CTAs in x, y, z.
    """

    num_warps: int | None
    num_stages: int | None
    num_ctas: int | None
    maxnreg: int | None
    constexprs: dict[str, ConstexprValue]
    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None = None
