"""What compared code is called, and what could not be compared, in words."""

from collections.abc import Iterator

from irlens.model.code import CodeComparison, CodeComparisons
from irlens.render._changes import describe, sides
from irlens.render._changes import title as pair_title


def title(comparison: CodeComparison) -> str:
    """Return kernel, GPU and what was asked for: "softmax_kernel on sm_90 num_warps=4 → 8"."""
    return " ".join(filter(None, (pair_title(comparison), sides(comparison))))


def left_out(comparisons: CodeComparisons) -> Iterator[str]:
    """Yield what could not be compared."""
    yield from (f"not compared: {told}" for told in comparisons.missing)
    yield from (f"removed: {describe(side)}" for side in comparisons.removed)
    yield from (f"added: {describe(side)}" for side in comparisons.added)
