"""What the dialogues share: those screens that stand over another one until they are answered."""

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

T = TypeVar("T")


class Dialogue(ModalScreen[T]):
    """A question over the screen.

    Attributes:
        HELP_TEXT: Markdown: what is asked. The keys are listed below it by themselves.
    """

    HELP_TEXT: ClassVar[str] = ""
    # Before a field takes it for a letter.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "app.help", "Help", id="help", priority=True),
    ]
