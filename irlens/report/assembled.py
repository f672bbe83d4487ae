"""Captures of PTX alone, completed with machine code that the ptxas at hand makes of it."""

from msgspec.structs import replace

from irlens.analyze.facts import Provenance
from irlens.model.capture import Capture, Stage


def with_machine_code(capture: Capture, provenance: Provenance) -> Capture:
    """Return a capture with a cubin, made of its ptx where it holds none.

    Args:
        capture: Any capture.
        provenance: Receives which assembler made it, or why none could.
    """
    if "ptx" not in capture.stages or "cubin" in capture.stages:
        return capture
    from irlens.artifacts.assembling import assemble  # captures of Triton have a cubin

    assembled = assemble(capture.stages["ptx"].text())
    if isinstance(assembled, str):
        provenance.missing(assembled, *(f"resources.{name}" for name in _OF_MACHINE_CODE))
        return capture
    provenance.known(
        f"the cubin is not in this capture: {assembled.by} made one of the ptx", "stages"
    )
    cubin = Stage("cubin", content=assembled.cubin)
    return replace(capture, stages={**capture.stages, "cubin": cubin})


_OF_MACHINE_CODE = ("registers", "local_bytes", "stack_bytes", "shared_static_bytes")
