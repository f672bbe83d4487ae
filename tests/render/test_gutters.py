"""What stands beside code, drawn once for text, HTML and the TUI."""

from irlens.model.listing import LoopRange
from irlens.render.view.gutters import Rails


def loop(first: int, last: int, depth: int) -> LoopRange:
    return LoopRange(first=first, last=last, depth=depth, source=None)


def test_rails_turn_where_a_loop_begins_and_ends() -> None:
    rails = Rails([loop(1, 6, 1), loop(2, 5, 2), loop(3, 4, 3)], 3)
    assert [rails.at(line) for line in range(8)] == [
        "", "╭", "│╭", "││╭", "││╰", "│╰", "╰", ""
    ]  # fmt: skip
    assert [rails.depth(line) for line in range(8)] == [0, 1, 2, 3, 3, 2, 1, 0]


def test_loops_that_begin_or_end_together_both_turn() -> None:
    rails = Rails([loop(1, 3, 1), loop(1, 3, 2)], 3)
    assert [rails.at(line) for line in (1, 2, 3)] == ["╭╭", "││", "╰╰"]


def test_loops_that_overlap_are_not_drawn_as_nested() -> None:
    rails = Rails([loop(1, 5, 1), loop(4, 8, 1)], 3)
    assert [rails.at(line) for line in (3, 4, 5, 8)] == ["│", "╭", "│", "╰"]
    assert {rails.depth(line) for line in range(1, 9)} == {1}


def test_deeper_loops_are_numbered() -> None:
    nested = [loop(depth, 40 - depth, depth) for depth in range(1, 12)]
    rails = Rails(nested, 2)
    assert rails.width == 2
    assert [rails.at(line) for line in (2, 3, 9, 10)] == ["│╭", "│3", "│9", "│+"]
    assert rails.depth(11) == 11
