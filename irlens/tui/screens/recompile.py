"""The form: what to choose anew before a kernel is compiled again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from irlens.model.errors import IrlensError
from irlens.model.text import printable_line
from irlens.session.workbench import Setting
from irlens.tui.asking import ask
from irlens.tui.drawing import DIM, WARN
from irlens.tui.screens.dialogue import Dialogue
from irlens.tui.widgets.field import Field
from irlens.tui.widgets.hints import Hints

_FREE = "← → change it, or type a value"


class Recompile(Dialogue[dict[str, str] | None]):
    """Answers with what the user changed, by name, or with nothing.

    It is there at once, so that whatever is pressed next is for it.

    Args:
        find: Called in a thread: what is compiled, and what can be chosen, with what was; nothing
            where its source is not known.
        last: What was chosen the last time, to go on from.
    """

    HELP_TEXT = """\
What to choose anew before the kernel is compiled again; everything else stays as it was.

* Arrow keys step through values, or type one; `→` completes it. What is empty stays as it was.
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

    def __init__(
        self, find: Callable[[], tuple[str, Sequence[Setting]]], last: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._find = find
        self._last = last

    def compose(self) -> ComposeResult:
        """Lay out what the settings go into."""
        with Vertical():
            yield VerticalScroll(can_focus=False)
            yield Static(Content.styled("reading …", DIM), id="choices", markup=False)
        yield Hints()

    def on_mount(self) -> None:
        """Ask what can be chosen."""
        self.query_one(Vertical).border_title = "Compile again"
        ask(self, self._find, self._found, self._failed)

    def is_too_early(self, binding: str) -> bool:
        """Return whether there is nothing to type into yet."""
        return not self.query(Field) and not self.leads_away(binding)

    def leads_away(self, binding: str) -> bool:
        """Return whether nothing is to be compiled after all."""
        return binding in ("form.cancel", "help")

    def _found(self, found: tuple[str, Sequence[Setting]]) -> None:
        self.call_later(self._show, *found)

    async def _show(self, kernel: str, settings: Sequence[Setting]) -> None:
        """Show a line for each setting, and begin with the first of them."""
        if not settings:
            told = "the kernel's source is not known: open it as irlens tui FILE.py:KERNEL"
            self.notify(told, severity="warning", markup=False)
            self.dismiss(None)
            return
        title = Content(f"Compile {printable_line(kernel)} again")
        self.query_one(Vertical).border_title = title
        await self.query_one(VerticalScroll).mount(*self._rows(settings))
        for field in self.query(Field):
            self._mark(field)
        self.query_one(Field).focus()
        self.app.call_later(self.lens.keyboard.go_on)  # the focus moves as late

    def _rows(self, settings: Sequence[Setting]) -> Iterator[Horizontal]:
        width = max(len(printable_line(setting.name)) for setting in settings)
        for at, setting in enumerate(settings):
            begins = at and setting.is_argument > settings[at - 1].is_argument
            name = Static(printable_line(setting.name), classes="-name", markup=False)
            name.styles.width = width + 3
            field = Field(setting, self._last.get(setting.name, setting.value))
            told = Static(classes="-was", markup=False)
            yield Horizontal(name, field, told, classes="-arguments" if begins else "")

    def _failed(self, error: IrlensError) -> None:
        self.dismiss(None)
        self.lens.tell_error(error)

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
            if field.completion is not None:
                told = Content.assemble(("→", WARN), told)
            self.query_one("#choices", Static).update(told)
