"""What the dialogues share: those screens that stand over another one until they are answered."""

from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from irlens.tui.app import Lens

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

    @property
    def lens(self) -> "Lens":
        """The app."""
        return cast("Lens", self.app)
