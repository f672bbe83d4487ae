from collections.abc import Callable

import pytest

from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE = "IRL406"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_shows_the_line_that_promotes(look: Look, target: str) -> None:
    (finding,) = look(CODE, "promoted.py", target)
    assert finding.message == (
        "a tensor is converted to fp64 at promoted.py:24, and no argument is a tensor of fp64"
    )


def test_silent_where_the_constant_has_the_type_of_the_data(look: Look) -> None:
    assert look(CODE, "promoted.py", WIDE=False) == []


def test_silent_where_the_result_is_fp64(look: Look) -> None:
    assert look(CODE, "promoted.py", args={"y_ptr": "fp64[n]"}) == []
