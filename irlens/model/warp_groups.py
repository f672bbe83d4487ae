"""What the warps of a warp-specialized kernel do, as a record."""

import msgspec


class WarpGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Warps of a CTA that run a part of the kernel of their own.

    Attributes:
        name: "default" for the warps that run the kernel's own code, "partition0" for those of the
            first partition of its ``ttg.warp_specialize``.
        num_warps: How many.
        registers: Registers that each of their threads holds while it runs that part, where
            ``setmaxnreg`` says so; ``None`` where they keep what they are launched with.
    """

    name: str
    num_warps: int
    registers: int | None
