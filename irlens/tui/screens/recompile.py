"""The form: what to choose anew before a kernel is compiled again."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from irlens.model.text import printable_line
from irlens.tui.drawing import DIM, WARN
from irlens.tui.screens.dialogue import Dialogue
from irlens.tui.widgets.field import Field
from irlens.tui.widgets.hints import Hints
from irlens.tui.workbench import Setting

_FREE = "← → change it, or type a value"


class Recompile(Dialogue[dict[str, str] | None]):
    """Answers with what the user changed, by name, or with nothing.

    Args:
        kernel: What is compiled.
        settings: What can be chosen, with what was.
        last: What was chosen the last time, to go on from.
    """

    HELP_TEXT = """\
What to choose anew before the kernel is compiled again; everything else stays as it was.

* Arrow keys step through values, or type one; what is empty stays as it was.
* `●` marks what is not as it was compiled.
* Below the settings stand the kernel's arguments. A tensor is written as `fp16[1024, 1024]`; a
  dtype alone keeps its shape.
* `= n_cols` is how a value follows from others in the kernel's description: it changes with them
  unless it is changed itself.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Cancel", id="form.cancel"),
        Binding("ctrl+r", "reset", "As compiled", id="form.reset"),
    ]

    def __init__(self, kernel: str, settings: Sequence[Setting], last: Mapping[str, str]) -> None:
        super().__init__()
        self._kernel = kernel
        self._settings = settings
        self._last = last

    def compose(self) -> ComposeResult:
        """Lay out a line for each setting."""
        width = max(len(printable_line(setting.name)) for setting in self._settings)
        with Vertical():
            with VerticalScroll(can_focus=False):
                for at, setting in enumerate(self._settings):
                    begins = at and setting.is_argument > self._settings[at - 1].is_argument
                    with Horizontal(classes="-arguments" if begins else ""):
                        name = Static(printable_line(setting.name), classes="-name", markup=False)
                        name.styles.width = width + 3
                        yield name
                        yield Field(setting, self._last.get(setting.name, setting.value))
                        yield Static(classes="-was", markup=False)
            yield Static(id="choices", markup=False)
        yield Hints()

    def on_mount(self) -> None:
        """Begin with the first of them."""
        title = Content(f"Compile {printable_line(self._kernel)} again")
        self.query_one(Vertical).border_title = title
        self.query_one(Field).focus()
        for field in self.query(Field):
            self._mark(field)

    def on_descendant_focus(self) -> None:
        """Say what can be chosen."""
        self._tell()

    def action_reset(self) -> None:
        """Put everything back to what it was compiled with."""
        for field in self.query(Field):
            field.value = field.setting.value

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        if isinstance(event.input, Field):
            self._mark(event.input)
            self._tell()

    @on(Input.Submitted)
    def _submitted(self) -> None:
        fields = self.query(Field)
        self.dismiss({field.setting.name: field.chosen for field in fields if field.is_changed})

    def _mark(self, field: Field) -> None:
        """Say beside a setting what it was, if it is not, or else what it follows from."""
        if field.parent is not None:
            was, follows = map(printable_line, (field.setting.value, field.setting.follows))
            told = Content.styled(f"= {follows}" if follows else "", DIM)
            if field.is_changed:
                told = Content.assemble(("● ", WARN), (f"was {was}", DIM))
            field.parent.query_one(".-was", Static).update(told)

    def _tell(self) -> None:
        """List what can be chosen for the setting in use."""
        field = self.focused
        if isinstance(field, Field):
            choices = [
                Content.styled(
                    f" {printable_line(each)} ", "reverse" if each == field.chosen else DIM
                )
                for each in field.near_choices
            ]
            told = Content("").join(choices or [Content.styled(_FREE, DIM)])
            self.query_one("#choices", Static).update(told)
