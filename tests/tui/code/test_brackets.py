"""Brackets: what belongs together stands in one, and those side by side do not touch."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from irlens.model.listing import PipelineAnnotation, PipelineRole
from irlens.render.view.gutters import bracket_at, bracket_lanes


def mark(line: int, role: PipelineRole, *partners: int) -> PipelineAnnotation:
    return PipelineAnnotation(line=line, role=role, pipeline=0, partners=partners)


def test_copies_commits_and_their_wait_make_one_bracket() -> None:
    (lane,) = bracket_lanes([mark(2, "copy", 4), mark(4, "commit", 7), mark(7, "wait", 4)])
    assert "".join(bracket_at(lane, line) for line in range(1, 9)) == " ┏┃┣┃┃┗ "


def test_a_wait_before_its_commit_closes_the_bracket_at_the_commit() -> None:
    (lane,) = bracket_lanes([mark(3, "wait", 5), mark(5, "commit", 3)])
    assert "".join(bracket_at(lane, line) for line in range(2, 7)) == " ┏┃┗ "


def test_brackets_that_overlap_stand_side_by_side() -> None:
    first, second = bracket_lanes(
        [mark(1, "commit", 5), mark(3, "commit", 8), mark(9, "commit", 10)]
    )
    assert "".join(bracket_at(first, line) for line in range(1, 11)) == "┏┃┃┃┗   ┏┗"
    assert "".join(bracket_at(second, line) for line in range(1, 11)) == "  ┏┃┃┃┃┗  "


def test_a_mark_alone_has_no_bracket() -> None:
    assert bracket_lanes([mark(1, "wait")]) == []


@given(
    st.lists(
        st.builds(
            lambda line, partners: mark(line, "commit", *partners),
            st.integers(1, 60),
            st.lists(st.integers(1, 60), max_size=3),
        ),
        max_size=12,
        unique_by=lambda made: made.line,
    )
)
def test_partners_share_a_bracket_and_a_lane_has_one_at_a_time(
    marks: list[PipelineAnnotation],
) -> None:
    made = bracket_lanes(marks)
    brackets = [bracket for lane in made for bracket in lane]
    for each in marks:
        for partner in set(each.partners) - {each.line}:
            assert any({each.line, partner} <= bracket.members for bracket in brackets)
    for lane in made:
        assert all(before.last < after.first for before, after in pairwise(lane))
    for bracket in brackets:
        assert {bracket.first, bracket.last} <= bracket.members
