import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (702_000_000, "702 MB"),
        (1_400_000_000, "1.4 GB"),
        (5_000_000_000_000_000, "5000 TB"),
    ],
)
def test_a_size_as_people_say_it(value: int, text: str) -> None:
    assert units.rounded_size(value) == text


@pytest.mark.parametrize("code", [0x9B, 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202E, 0x2066])
def test_controls_of_direction_and_of_lines_are_escaped(code: int) -> None:
    escaped = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    assert units.printable(f"a{chr(code)}b") == f"a{escaped}b"


@pytest.mark.parametrize("code", [0xAD, 0x200B, 0x2060, 0xFEFF, 0xFFF9, 0xE0041])
def test_what_nobody_sees_is_escaped(code: int) -> None:
    hidden = f"soft{chr(code)}max"
    shown = units.printable(hidden)
    assert shown.isascii()
    assert shown.encode().decode("unicode_escape") == hidden
    as_json = units.printable_json(f'"{hidden}"')
    assert as_json.isascii()
    assert msgspec.json.decode(as_json) == hidden


def test_joined_letters_stay() -> None:
    assert units.printable("\U0001f469\u200d\U0001f680") == "\U0001f469\u200d\U0001f680"


def test_plural() -> None:
    assert units.plural(1, "line") == "1 line"
    assert units.plural(2048, "line") == "2,048 lines"
    assert units.plural(2, "pass") == "2 passes"
    assert units.plural(2, "launch") == "2 launches"


@given(st.text())
@example("\u009b2J \u202e \u2066 \x7f \x1b[2J")
def test_json_for_a_terminal_has_the_same_value_and_no_control(value: str) -> None:
    encoded = msgspec.json.encode(value).decode()
    shown = units.printable_json(encoded)
    assert msgspec.json.decode(shown) == value
    assert units.printable(shown) == shown
