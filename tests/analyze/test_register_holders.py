"""Lines that hold most registers at the peak, and changes that are about them."""

import pytest

from irlens.analyze.register_holders import accounts_for, describe, holders, needed
from irlens.model.pressure import LiveGroup, Pressure, StagePressure
from irlens.model.source import SourceLocation

pytestmark = pytest.mark.stored


def _pressure(*live: tuple[int | None, int], peak: int | None = None) -> StagePressure:
    groups = tuple(
        LiveGroup(source=SourceLocation("k.py", line) if line else None, registers=n, values=n)
        for line, n in live
    )
    total = sum(n for _, n in live) if peak is None else peak
    return StagePressure(peak=total, line=1, source=SourceLocation("k.py", 9), live=groups)


def test_the_fewest_lines_that_hold_half_are_named() -> None:
    pressure = _pressure((5, 130), (6, 120), (7, 50), (8, 20))
    assert [each.source.line for each in holders(pressure) if each.source] == [5, 6]
    assert describe(pressure) == (
        "k.py:5 and k.py:6 hold 250 of the 320 registers that are live at once at k.py:9"
    )
    assert describe(_pressure((5, 200), (7, 50))).startswith("k.py:5 holds 200 of the 250")


def test_nothing_is_named_where_a_line_is_unknown() -> None:
    pressure = _pressure((None, 200), (5, 50))
    assert holders(pressure) == []
    assert describe(pressure) == ""
    assert not accounts_for(pressure, _pressure((None, 100), (5, 25)))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (_pressure((5, 65), (6, 60), (7, 50), (8, 20)), True),  # the named lines alone
        (_pressure((5, 125), (6, 120), (7, 5), (8, 5)), False),  # others
        (_pressure((5, 130), (6, 120), (7, 50), (8, 20)), False),  # nothing
        (_pressure((5, 10), (6, 10), (7, 400)), False),  # more are needed elsewhere
    ],
)
def test_a_change_proves_them_where_they_account_for_what_it_frees(
    after: StagePressure, expected: bool
) -> None:
    before = _pressure((5, 130), (6, 120), (7, 50), (8, 20))
    assert accounts_for(before, after) is expected


def test_ptx_says_what_is_needed_before_machine_code_that_spills() -> None:
    ptx, sass = _pressure((5, 300)), _pressure((5, 128))
    assert needed(Pressure(ptx=ptx, sass=sass)) is ptx
    assert needed(Pressure(sass=sass)) is sass
    assert needed(Pressure()) is None
