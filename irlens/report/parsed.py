"""The stages of a capture, parsed: only what it holds is loaded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from irlens.analyze.kernels import Named, by_name
from irlens.analyze.ledger import Ledger
from irlens.isa import mlir, ptx
from irlens.model.capture import Capture

if TYPE_CHECKING:
    from irlens.isa import amdgcn, sass

N = TypeVar("N", bound=Named)


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of a capture that facts are read from; ``None`` is "not in this capture"."""

    ttir: mlir.Module | None
    ttgir: mlir.Module | None
    ptx: ptx.Function | None
    amdgcn: "amdgcn.Function | None"
    sass: "sass.Section | None"


def parse(capture: Capture, ledger: Ledger, *, sass: bool) -> Parsed:
    """Read the stages of a capture.

    Args:
        capture: The capture.
        ledger: Is told of what has no kernel of the capture's name.
        sass: Whether to disassemble the cubin too.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: The disassembler is missing or failed.
    """
    function = _ptx(capture, ledger)
    return Parsed(
        ttir=_mlir(capture, "ttir"),
        ttgir=_mlir(capture, "ttgir"),
        ptx=function,
        amdgcn=_amdgcn(capture, ledger),
        sass=_sass(capture, function, ledger) if sass else None,
    )


def _mlir(capture: Capture, name: str) -> mlir.Module | None:
    stage = capture.stages.get(name)
    return mlir.parse(stage.text(), stage=name) if stage is not None else None


def _ptx(capture: Capture, ledger: Ledger) -> ptx.Function | None:
    if "ptx" not in capture.stages:
        return None
    kernels = ptx.parse(capture.stages["ptx"].text()).kernels
    return _the_kernel(kernels, "ptx", capture, ledger)


def _amdgcn(capture: Capture, ledger: Ledger) -> "amdgcn.Function | None":
    if "amdgcn" not in capture.stages:
        return None
    from irlens.isa import amdgcn

    kernels = amdgcn.parse(capture.stages["amdgcn"].text()).kernels
    return _the_kernel(kernels, "amdgcn", capture, ledger)


def _sass(capture: Capture, function: ptx.Function | None, ledger: Ledger) -> "sass.Section | None":
    if "cubin" not in capture.stages:
        return None
    from irlens.analyze import sass_source
    from irlens.artifacts.tools import disassemble
    from irlens.isa import sass

    sections = sass.parse(disassemble(capture.stages["cubin"].read())).sections
    section = _the_kernel(sections, "sass", capture, ledger)
    instructions = function.instructions if function is not None else ()
    ptx_chains = {instruction.line: instruction.locations for instruction in instructions}
    return sass_source.trace(section, ptx_chains) if section is not None else None


def _the_kernel(kernels: Sequence[N], stage: str, capture: Capture, ledger: Ledger) -> N | None:
    kernel = by_name(kernels, capture.kernel)
    if kernel is None:
        ledger.missing(f"the {stage} holds no kernel named {capture.kernel}", "pipelines", "mix")
    return kernel
