from hypothesis import given
from hypothesis import strategies as st

from irlens.model.text import split_list


@given(st.lists(st.from_regex(r"[a-z]{1,3}(\([a-z], [a-z]\))?", fullmatch=True), min_size=1))
def test_lists_are_split_outside_brackets(parts: list[str]) -> None:
    assert split_list(", ".join(parts)) == parts


def test_which_brackets_hold_together_can_be_said() -> None:
    assert split_list("a<b, c>d") == ["a<b", "c>d"]
    assert split_list("f32, #ttg.blocked<{order = [1, 0]}>", "()[]{}<>") == [
        "f32",
        "#ttg.blocked<{order = [1, 0]}>",
    ]


def test_an_item_may_be_empty() -> None:
    assert split_list("") == [""]
    assert split_list("a,, b") == ["a", "", "b"]
