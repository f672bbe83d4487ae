"""The parsed ttir and ttgir of a capture."""

from irlens.isa import mlir
from irlens.isa.mlir.argument_names import named_text
from irlens.model.capture import Capture


def stage_module(capture: Capture, name: str, text: str | None = None) -> mlir.Module:
    """Return a stage whose kernel's arguments have the names of its parameters.

    Args:
        capture: Its manifest has the names, where Triton only numbers the arguments.
        name: "ttir" or "ttgir", which the capture has.
        text: The stage's text, where it is a part of what the capture holds.

    Raises:
        ArtifactError: The stage is broken.
    """
    module = mlir.parse(capture.stages[name].text() if text is None else text, stage=name)
    given = capture.manifest.args if capture.manifest is not None else {}
    named = named_text(module, given) if given else None
    return module if named is None else mlir.parse(named, stage=name)
