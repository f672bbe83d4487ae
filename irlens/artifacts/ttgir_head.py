"""What a ttgir says of its module, read without parsing it."""

import re

from irlens.model.capture import Stage


def module_number(name: str, text: str) -> int | None:
    """Return a number among the module's attributes ("num-warps"); ``None`` if it is not there."""
    found = re.search(rf'"ttg\.{name}" = (\d+) : i32', text)
    return int(found[1]) if found else None


def asked_warps(ttgir: Stage) -> int | None:
    """Return the warps per CTA that a kernel was compiled for, without those of its partitions.

    Returns:
        ``None`` where the file cannot be read or does not say.
    """
    if ttgir.path is None:
        return None
    try:
        with ttgir.path.open("rb") as lines:
            head = next((line for line in lines if line.startswith(b"module")), b"")
    except OSError:  # whoever reads all of it is told
        return None
    return module_number("num-warps", head.decode("utf-8", "replace"))
