import pytest

from irlens.model import text as units


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.09375, "9.4 %"),
        (0.0001, "<0.1 %"),
        (0.99999, ">99.9 %"),
    ],
)
def test_a_percentage_is_never_rounded_to_none_or_all(ratio: float, text: str) -> None:
    assert units.percent(ratio) == text


def test_changes_carry_a_real_minus_sign() -> None:
    assert units.signed(-1024) == "−1,024"
    assert units.signed(3) == "+3"


def test_plural() -> None:
    assert units.plural(1, "line") == "1 line"
    assert units.plural(2048, "line") == "2,048 lines"
