"""Variants as text."""

from irlens.model.variants import KernelVariants, Specialized, Variant, Variants, splits_of
from irlens.render.options import Options
from irlens.render.text import write
from irlens.render.view.variants import variants_view


def text(*blocks: tuple[int, int]) -> str:
    variants = [
        Variant(
            specialization=[
                Specialized(name="n", constexpr=True, value=n),
                Specialized(name="BLOCK", constexpr=True, value=block),
            ],
            options={},
            launch={},
            code=number,
        )
        for number, (n, block) in enumerate(blocks, 1)
    ]
    kernel = KernelVariants(
        kernel="k", target=None, triton_version=None, variants=variants,
        splits=splits_of(variants), number=len(variants),
    )  # fmt: skip
    return write(variants_view(Variants(schema=1, kernels=[kernel]), Options()), Options())


def told_apart(shown: str) -> list[list[str]]:
    return [line.split() for line in shown.splitlines() if "constexpr" in line]


def test_what_leaves_as_many_variants_is_left_out() -> None:
    (row,) = told_apart(text((1, 1), (16, 2), (16, 3)))
    assert (row[0], row[-3:]) == ("BLOCK", ["3", "→", "2"])


def test_what_tells_apart_is_named_if_nothing_leaves_fewer() -> None:
    shown = text((1, 4), (2, 5), (3, 6))
    assert {row[0] for row in told_apart(shown)} == {"n", "BLOCK"}
    assert "→" not in shown
    assert "as many" in shown
