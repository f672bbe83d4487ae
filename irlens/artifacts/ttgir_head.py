"""What the first lines of a ttgir say of a kernel's launch."""

import re

from irlens.model.capture import Stage
from irlens.model.errors import ArtifactError

#: Bytes at the start of a ttgir that hold its layouts and the line ``module attributes {...}``.
_HEAD = 1 << 16


def module_number(name: str, text: str) -> int | None:
    """Return an integer attribute of a ttgir module ("num-warps"); ``None`` if there is none."""
    found = re.search(rf'"(?:ttg|triton_gpu)\.{name}" = (\d{{1,10}}) : i32', text)
    return int(found[1]) if found else None


def requested_warps(ttgir: Stage) -> int | None:
    """Return the requested warps per CTA, without those of the kernel's partitions.

    Reads the head of the file only.

    Returns:
        ``None`` if the file cannot be read or does not say.
    """
    try:
        head = ttgir.read(most=_HEAD).splitlines()
    except ArtifactError:  # reading the whole artifact reports it
        return None
    module = next((line for line in head if line.startswith(b"module")), b"")
    return module_number("num-warps", module.decode("utf-8", "replace"))
