"""Work on captures that begins before its results are needed."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from irlens.artifacts import report_cache
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError


def disassembling(captures: Sequence[Capture]) -> AbstractContextManager[None]:
    """Disassemble captures in the background, while the body of a ``with`` runs."""
    if not captures:
        return nullcontext()
    from irlens.artifacts.disassembly import ahead

    return ahead(captures)


def not_inspected(captures: Sequence[Capture]) -> list[Capture]:
    """Return the captures without a remembered report that covers the machine code."""
    found: list[Capture] = []
    for capture in captures:
        with suppress(ArtifactError):  # inspecting it reports the error
            if "cubin" in capture.stages and not report_cache.is_remembered(capture, sass=True):
                found.append(capture)
    return found
