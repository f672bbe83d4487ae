"""The form with the settings to recompile a kernel with."""

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
from irlens.session.exchange import Setting
from irlens.tui.drawing import DIM, WARN
from irlens.tui.screens.dialogs import Dialog
from irlens.tui.services import Context
from irlens.tui.services.threads import run_in_thread
from irlens.tui.widgets.key_bar import KeyBar

_ANY_VALUE = "← → step, or type a value"
#: From here on kernels are tuned by powers of two: a step doubles or halves them.
_DOUBLED_FROM = 8
_CHOICES_SHOWN = 14


class Field(Input):
    """The value of a setting, typed or stepped through with the arrow keys."""

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
        # Without Textual's suggester, which draws a completion as if it were typed.
        super().__init__(value, compact=True)
        self.setting = setting

    @property
    def typed(self) -> str:
        """The value as typed."""
        return self.value.strip()

    @property
    def is_changed(self) -> bool:
        """Whether the value differs from the compiled one; an empty field does not."""
        return self.typed not in ("", self.setting.value)

    @property
    def near_choices(self) -> list[str]:
        """Some of the choices: those that start like the value, or around it."""
        choices, typed = self.setting.choices, self.typed.lower()
        if typed in choices:
            index = choices.index(typed)
            first = max(min(index - _CHOICES_SHOWN // 2, len(choices) - _CHOICES_SHOWN), 0)
            return list(choices[first : first + _CHOICES_SHOWN])
        return [choice for choice in choices if choice.startswith(typed)][:_CHOICES_SHOWN]

    @property
    def completion(self) -> str | None:
        """The first choice that starts like the value, unless the value is a choice itself."""
        is_partial = self.typed and self.typed.lower() not in self.setting.choices
        return next(iter(self.near_choices), None) if is_partial else None

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Take every character but "?", which opens the help and is part of no value."""
        return key != "question_mark" and super().check_consume_key(key, character)

    def action_step(self, step: int) -> None:
        """Go to the next (-1: previous) value, complete it, or else move the cursor."""
        value = stepped(self.typed, self.setting.choices, step)
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
    if choices or not value.isdecimal() or len(value) > 18:
        return None
    number = int(value)
    if number >= _DOUBLED_FROM and number & (number - 1) == 0:
        return str(number * 2 if step > 0 else number // 2)
    return str(max(number + step, 0))


class RecompileForm(Dialog[dict[str, str] | None]):
    """Returns the changed settings by name, or ``None``.

    The dialog opens before its settings are known, so that the keys pressed next are for it.

    Args:
        find: Called in a thread; returns the kernel's name and its settings, none if the source
            is unknown.
    """

    HELP_TEXT = """\
The settings to recompile the kernel with; unchanged ones keep their value.

* The arrow keys step through values; `→` completes a typed one. An empty field is unchanged.
* `●` marks a changed setting.
* The kernel's arguments follow below the settings. A tensor is written as `fp16[1024, 1024]`; a
  dtype alone keeps the shape.
* `= n_cols` means that the kernel's description derives the value from other settings: it follows
  them unless you change it.
"""
    PROMPT_BINDINGS: frozenset[str] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Cancel", id="form.cancel"),
        Binding("ctrl+r", "reset", "As compiled", id="form.reset"),
    ]

    def __init__(
        self,
        context: Context,
        find: Callable[[], tuple[str, Sequence[Setting]]],
        changes: Mapping[str, str],
    ) -> None:
        super().__init__()
        self._services = context
        self._find = find
        self._changes = changes

    def compose(self) -> ComposeResult:
        """Lay out an empty form."""
        with Vertical():
            yield VerticalScroll(can_focus=False)
            yield Static(Content.styled("loading …", DIM), id="choices", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Load the settings."""
        self.query_one(Vertical).border_title = "Recompile"
        run_in_thread(self, self._find, self._on_settings, self._on_error)

    def defers(self, binding: str) -> bool:
        """Return whether there is no field to type into yet."""
        return not self.query(Field) and not self.abandons_loading(binding)

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding compiles nothing."""
        return binding in ("form.cancel", "help")

    def _on_settings(self, settings: tuple[str, Sequence[Setting]]) -> None:
        self.call_later(self._show, *settings)

    async def _show(self, kernel: str, settings: Sequence[Setting]) -> None:
        """Show a row for each setting, and focus the first one."""
        if not settings:
            message = "the kernel's source is unknown: open it as irlens tui FILE.py:KERNEL"
            self.notify(message, severity="warning", markup=False)
            self.dismiss(None)
            return
        title = Content(f"Recompile {printable_line(kernel)}")
        self.query_one(Vertical).border_title = title
        await self.query_one(VerticalScroll).mount(*self._rows(settings))
        for field in self.query(Field):
            self._mark(field)
        self.query_one(Field).focus()
        self.app.call_later(self._services.keys.resume)  # the focus moves as late

    def _rows(self, settings: Sequence[Setting]) -> Iterator[Horizontal]:
        width = max(len(printable_line(setting.name)) for setting in settings)
        for index, setting in enumerate(settings):
            is_first = index and setting.is_argument > settings[index - 1].is_argument
            name = Static(printable_line(setting.name), classes="-name", markup=False)
            name.styles.width = width + 3
            field = Field(setting, self._changes.get(setting.name, setting.value))
            note = Static(classes="-was", markup=False)
            yield Horizontal(name, field, note, classes="-arguments" if is_first else "")

    def _on_error(self, error: IrlensError) -> None:
        self.dismiss(None)
        self._services.navigator.show_error(error)

    def on_descendant_focus(self) -> None:
        """List the choices of the focused setting."""
        self._show_choices()

    def action_reset(self) -> None:
        """Reset every setting to its compiled value."""
        for field in self.query(Field):
            field.value = field.setting.value

    @on(Input.Changed)
    def _on_changed(self, event: Input.Changed) -> None:
        if isinstance(event.input, Field):
            self._mark(event.input)
            self._show_choices()

    @on(Input.Submitted)
    def _on_submitted(self) -> None:
        fields = self.query(Field)
        self.dismiss({field.setting.name: field.typed for field in fields if field.is_changed})

    def _mark(self, field: Field) -> None:
        """Show beside a setting its compiled value if it is changed, or what it follows from."""
        if field.parent is not None:
            was, follows = map(printable_line, (field.setting.value, field.setting.follows))
            note = Content.styled(f"= {follows}" if follows else "", DIM)
            if field.is_changed:
                note = Content.assemble(("● ", WARN), (f"was {was}", DIM))
            field.parent.query_one(".-was", Static).update(note)

    def _show_choices(self) -> None:
        """List the choices of the focused setting."""
        field = self.focused
        if isinstance(field, Field):
            choices = [
                Content.styled(
                    f" {printable_line(choice)} ", "reverse" if choice == field.typed else DIM
                )
                for choice in field.near_choices
            ]
            row = Content("").join(choices or [Content.styled(_ANY_VALUE, DIM)])
            if field.completion is not None:
                row = Content.assemble(("→", WARN), row)
            self.query_one("#choices", Static).update(row)
