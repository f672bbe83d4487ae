"""A value to type, or to step through with the arrow keys."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from irlens.session.workbench import Setting

#: From here on powers of two are what kernels are tuned by: a step doubles or halves them.
_DOUBLED_FROM = 8
_CHOICES_SHOWN = 14


class Field(Input):
    """The value of a setting.

    Args:
        setting: What is set.
        value: What to begin with.
    """

    DEFAULT_CSS = """
    Field {
        width: 24;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        &:focus {
            border: none;
            background: $block-cursor-background;
            background-tint: transparent;
            color: $block-cursor-foreground;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.focus_previous", "Previous", id="form.previous", show=False),
        Binding("down", "app.focus_next", "Next", id="form.next", show=False),
        Binding("right", "step(1)", "More", id="form.more"),
        Binding("left", "step(-1)", "Less", id="form.less"),
        Binding("enter", "submit", "Compile", id="form.compile"),
    ]

    def __init__(self, setting: Setting, value: str) -> None:
        # Textual would write a completion behind what is typed, as if it were chosen.
        super().__init__(value, compact=True)
        self.setting = setting

    @property
    def chosen(self) -> str:
        """What is typed."""
        return self.value.strip()

    @property
    def is_changed(self) -> bool:
        """Whether it is not what it was; what is empty is left as it was."""
        return self.chosen not in ("", self.setting.value)

    @property
    def near_choices(self) -> list[str]:
        """Some of what can be chosen: what begins like the value, or is around it."""
        choices, typed = self.setting.choices, self.chosen.lower()
        if typed in choices:
            at = choices.index(typed)
            first = max(min(at - _CHOICES_SHOWN // 2, len(choices) - _CHOICES_SHOWN), 0)
            return list(choices[first : first + _CHOICES_SHOWN])
        return [choice for choice in choices if choice.startswith(typed)][:_CHOICES_SHOWN]

    @property
    def completion(self) -> str | None:
        """What can be chosen and begins like what is typed, unless that can be chosen itself."""
        begun = self.chosen and self.chosen.lower() not in self.setting.choices
        return next(iter(self.near_choices), None) if begun else None

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Take every letter but the one that asks for help, which is part of no value."""
        return key != "question_mark" and super().check_consume_key(key, character)

    def action_step(self, step: int) -> None:
        """Go to the next (-1: previous) value or complete it, or else move the cursor."""
        value = stepped(self.chosen, self.setting.choices, step)
        if step > 0 and self.cursor_at_end:
            value = self.completion or value
        if value is not None:
            self.value = value
            self.cursor_position = len(value)
        elif step > 0:
            self.action_cursor_right()
        else:
            self.action_cursor_left()


def stepped(value: str, choices: tuple[str, ...], step: int) -> str | None:
    """Return the value after (-1: before) one, itself at an end; ``None`` if there is no order."""
    if value in choices:
        return choices[max(min(choices.index(value) + step, len(choices) - 1), 0)]
    if choices or not value.isdecimal():
        return None
    number = int(value)
    if number >= _DOUBLED_FROM and number & (number - 1) == 0:
        return str(number * 2 if step > 0 else number // 2)
    return str(max(number + step, 0))
