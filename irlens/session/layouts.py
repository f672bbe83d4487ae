"""The layout of a value in the ttgir of what the user named."""

from collections.abc import Sequence
from contextlib import suppress

from irlens.analyze.layout_drawing import draw_layout, namesakes
from irlens.isa import mlir
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.model.layout import LayoutDrawing
from irlens.session.session import Session
from irlens.session.subject import Configurations

#: Further values of a name that a note lists.
_MOST_NAMES = 6


def layout_of(
    kernel: str, configurations: Configurations, session: Session, value: str
) -> LayoutDrawing:
    """Return the layout of a value of KERNEL's ttgir.

    Raises:
        IrlensError: KERNEL is several captures, has no ttgir, or no such value with a layout that
            irlens draws.
    """
    captures = session.captures(kernel, configurations)
    if len(captures) != 1:
        raise IrlensError(
            f"{kernel} is {len(captures)} captures: a layout is drawn of one",
            hint="name one capture, or select one configuration: --set NAME=VALUE",
        )
    drawing = layout_in(captures[0], [value])
    module = mlir.parse(captures[0].stages["ttgir"].text(), stage="ttgir")
    if others := namesakes(module, value):
        shown = [f"{name} ({shape})" for name, shape in others.items()][:_MOST_NAMES]
        shown += ["…"] if len(others) > _MOST_NAMES else []
        session.note_once([f"{drawing.value} is the first of its name; also {', '.join(shown)}"])
    return drawing


def layout_in(capture: Capture, names: Sequence[str], line: int | None = None) -> LayoutDrawing:
    """Return the layout of the first of some values of a capture's ttgir that has one.

    Args:
        line: The line that names them: of several values of a name, the one that it sees.

    Raises:
        IrlensError: There is no ttgir, or no such value with a layout that irlens draws.
    """
    if "ttgir" not in capture.stages:
        raise ArtifactError(f"{capture.kernel}: no ttgir in this capture")
    module = mlir.parse(capture.stages["ttgir"].text(), stage="ttgir")
    if line is None:
        return draw_layout(module, names[0], capture.kernel)
    for name in names:
        with suppress(UnknownNameError):
            return draw_layout(module, name, capture.kernel, line)
    raise IrlensError(f"neither a tensor nor a buffer: {', '.join(names)}")
