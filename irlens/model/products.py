"""The record of a matrix product: its operands' types, and those it is really computed in."""

import msgspec

from irlens.model.source import SourceLocation


class MatrixProduct(msgspec.Struct, frozen=True, kw_only=True):
    """One operation that multiplies matrices. ``None`` is "unknown", see ``reason``.

    Attributes:
        line: 1-based line of the ttir; of the ttgir for kernels without a ttir.
        source: The line of Python it belongs to; ``None`` if unknown.
        operation: "tt.dot", "tt.dot_scaled", "ttng.tc_gen5_mma", ...
        shape: M, N and K of one execution, after the batch if it has one.
        operands: Types of its operands: "e4m3", "bf16 × e2m1".
        computed: Types that are multiplied: "fp16".
        rate: The type by whose rate they are: "fp8" for products of e4m3 or of e2m1 by e4m3.
        on_tensor_cores: Whether tensor cores (AMD: matrix cores) multiply them.
        instruction: The matrix instruction; ``None`` without one.
        repeated: Products that are computed in its place: 3 for "tf32x3".
        slowdown: How many times as long it takes at the GPU's peak as in its operands' own type;
            ``None`` where the GPU does not multiply that, or a rate is unknown.
        reason: Why something is unknown; empty if nothing is.
    """

    line: int
    source: SourceLocation | None
    operation: str
    shape: tuple[int, ...]
    operands: str
    computed: str | None = None
    rate: str | None = None
    on_tensor_cores: bool | None = None
    instruction: str | None = None
    repeated: int = 1
    slowdown: float | None = None
    reason: str = ""

    @property
    def multiplications(self) -> int:
        """Multiply-adds of one execution."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def slows_down(self) -> bool:
        """Whether tensor cores compute it in a type that is slower than its operands' own."""
        return bool(self.on_tensor_cores and self.slowdown and self.slowdown > 1)

    @property
    def computed_how(self) -> str:
        """How it is computed, where that is not its operands' own way: "in fp16"."""
        if self.computed == self.operands:
            return f"at the rate of {self.rate}"
        return f"in {self.computed}"
