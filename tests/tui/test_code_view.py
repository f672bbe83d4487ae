"""What every view of code has to provide."""

import pytest

from irlens.tui.widgets.code_view import CodeView


def test_a_view_without_its_own_lines_and_cursor_is_refused() -> None:
    class Incomplete(CodeView):
        """A view that cannot be searched."""

    with pytest.raises(TypeError, match=r"describe.*go_to_position.*position.*searched_lines"):
        Incomplete()  # type: ignore[abstract]  # what the test is about
