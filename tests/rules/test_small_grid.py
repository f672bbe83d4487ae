from collections.abc import Callable

from irlens.model.report import Finding

CODE = "IRL502"
Look = Callable[..., list[Finding]]


def test_shows_sms_without_work(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", args={"PROGRAMS": 100})
    assert finding.message == "100 CTAs for 132 SMs of h100: 32 stay idle"


def test_silent_where_every_sm_has_a_cta(look: Look) -> None:
    assert look(CODE, "tile_sum.py", args={"PROGRAMS": 132}) == []


def test_silent_where_the_number_of_sms_is_not_known(look: Look) -> None:
    assert look(CODE, "tile_sum.py", "sm_90", args={"PROGRAMS": 100}) == []
