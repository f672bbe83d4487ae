"""Whether a kernel accesses shared memory whose size its launch decides, by its assembly."""

import re

from irlens.isa import ptx
from irlens.isa.dialect import kernel_named
from irlens.model.capture import Capture


def without(capture: Capture) -> str:
    """Return the stage that shows that a kernel accesses none: its launch needs none; "" if none.

    Raises:
        ArtifactError: The assembly is broken.
    """
    if "ptx" in capture.stages:
        return "" if _ptx_accesses(capture) else "ptx"
    if "amdgcn" in capture.stages:
        return "" if _amdgcn_accesses(capture) else "amdgcn"
    return ""


def _ptx_accesses(capture: Capture) -> bool:
    """Whether a kernel, or a function that it may call, names an ``.extern .shared`` variable."""
    module = ptx.parse(capture.stages["ptx"].text())
    kernel = kernel_named(module.kernels, capture.kernel)
    if kernel is None:
        return True
    names = [re.escape(v.name) for v in module.variables if (v.linkage, v.space) == _DYNAMIC]
    if not names:
        return False
    name = re.compile(rf"(?<![\w$%])(?:{'|'.join(names)})(?![\w$%])")
    code = [kernel, *(each for each in module.functions if each.kind == "func")]
    return any(name.search(i.text) for each in code for i in each.instructions)


_DYNAMIC = ("extern", "shared")


def _amdgcn_accesses(capture: Capture) -> bool:
    """Whether a kernel accesses LDS, all of which Triton allocates at launch."""
    from irlens.isa import amdgcn
    from irlens.isa.amdgcn.memory import reads_lds, writes_lds

    kernel = kernel_named(amdgcn.parse(capture.stages["amdgcn"].text()).kernels, capture.kernel)
    if kernel is None:
        return True
    return any(reads_lds(each) or writes_lds(each) for each in kernel.instructions)
