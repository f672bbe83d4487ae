"""How a constexpr of recorded launches follows a size."""

import pytest

from irlens.session.recorded_sizes import _expression


@pytest.mark.parametrize(
    ("sizes", "values", "is_tile", "expression"),
    [
        ([1000, 300], [1024, 512], True, "next_power_of_2(n)"),
        ([1024, 512], [1024, 512], True, "next_power_of_2(n)"),
        ([1024, 512], [1024, 512], False, "n"),
        ([1000, 300], [1024, 512], False, ""),
        ([1000, 300], [1024, 1024], True, ""),
        ([9000, 1000, 300], [2048, 1024, 512], True, "min(next_power_of_2(n), 2048)"),
        ([1000, 300, 3], [1024, 512, 16], True, "max(next_power_of_2(n), 16)"),
        # Two values alone do not tell that the second is a bound.
        ([9000, 300], [2048, 512], True, ""),
    ],
)
def test_an_expression_gives_each_value(
    sizes: list[int], values: list[int], is_tile: bool, expression: str
) -> None:
    assert _expression("n", sizes, values, is_tile=is_tile) == expression
