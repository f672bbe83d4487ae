"""The layout of a value in the ttgir of what the user named."""

from irlens.analyze.layout_drawing import draw_layout
from irlens.isa import mlir
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.layout import LayoutDrawing
from irlens.session.session import Session
from irlens.session.subject import Configurations


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
    (capture,) = captures
    if "ttgir" not in capture.stages:
        raise ArtifactError(f"{capture.kernel}: no ttgir in this capture")
    module = mlir.parse(capture.stages["ttgir"].text(), stage="ttgir")
    return draw_layout(module, value, capture.kernel)
