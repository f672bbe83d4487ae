"""Whether a kernel accesses shared memory whose size its launch decides, by its assembly."""

import re

from irlens.analyze.capture_code import AmdgcnCode, CaptureCode, PtxCode


def without(code: CaptureCode) -> str:
    """Return the stage that shows that a kernel accesses none: its launch needs none; "" if none.

    Raises:
        ArtifactError: The assembly is broken.
    """
    if code.ptx is not None:
        return "" if _ptx_accesses(code.ptx) else "ptx"
    if code.amdgcn is not None:
        return "" if _amdgcn_accesses(code.amdgcn) else "amdgcn"
    return ""


def _ptx_accesses(code: PtxCode) -> bool:
    """Whether a kernel, or a function that it may call, names an ``.extern .shared`` variable."""
    module, kernel = code.module, code.kernel
    if kernel is None:
        return True
    names = [re.escape(v.name) for v in module.variables if (v.linkage, v.space) == _DYNAMIC]
    if not names:
        return False
    name = re.compile(rf"(?<![\w$%])(?:{'|'.join(names)})(?![\w$%])")
    called = [kernel, *(each for each in module.functions if each.kind == "func")]
    return any(name.search(i.text) for each in called for i in each.instructions)


_DYNAMIC = ("extern", "shared")


def _amdgcn_accesses(code: AmdgcnCode) -> bool:
    """Whether a kernel accesses LDS, all of which Triton allocates at launch."""
    from irlens.isa.amdgcn.memory import reads_lds, writes_lds

    if code.kernel is None:
        return True
    return any(reads_lds(each) or writes_lds(each) for each in code.kernel.instructions)
