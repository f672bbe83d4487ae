from collections.abc import Callable

from irlens.model.report import Finding

CODE = "IRL501"
Look = Callable[..., list[Finding]]


def test_shows_a_last_wave_that_is_nearly_empty(look: Look) -> None:
    # 16 CTAs on each of 132 SMs are 2,112 at once.
    (finding,) = look(CODE, "tile_sum.py", args={"PROGRAMS": 2112 + 211})
    assert finding.message == (
        "1.10 waves: the last one fills 10.0 % of the GPU, and 45.0 % of the 2 waves stay empty"
    )


def test_silent_on_whole_waves(look: Look) -> None:
    assert look(CODE, "tile_sum.py", args={"PROGRAMS": 2112 * 2}) == []


def test_silent_on_a_single_wave_and_on_many(look: Look) -> None:
    assert look(CODE, "tile_sum.py", args={"PROGRAMS": 211}) == []
    assert look(CODE, "tile_sum.py", args={"PROGRAMS": 2112 * 10 + 211}) == []


def test_silent_where_the_number_of_sms_is_not_known(look: Look) -> None:
    assert look(CODE, "tile_sum.py", "sm_90", args={"PROGRAMS": 2112 + 211}) == []
