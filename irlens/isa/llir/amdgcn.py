"""Asynchronous copies in LLVM IR for AMD's GPUs, and the waits for them.

Copies to LDS are grouped by ``asyncmark``, or counted one by one by ASYNCcnt and TENSORcnt (LLVM,
"User Guide for AMDGPU Backend", intrinsics and "Asynchronous Operations"). The number of
``s.waitcnt`` counts other loads, too, and which of them LLVM makes is not seen here: the machine
code tells.
"""

import re
from typing import Literal, TypeAlias

from irlens.isa.events import Commit, Copy, Event, Wait

#: What is waited for on its own.
Counter: TypeAlias = Literal["marks", "async", "tensor"]

_CALL = re.compile(r"@llvm\.amdgcn\.(?P<name>[\w.]+)\((?:i\d+ (?P<number>\d{1,9}))?")
_INTO_LDS = re.compile(
    r"(?:raw|struct)\.(?:ptr\.)?buffer\.load(?:\.async)?\.lds|global\.load(?:\.async)?\.lds"
    r"|load(?:\.async)?\.to\.lds"
)
_COUNTED: dict[str, Counter] = {
    "global.load.async.to.lds": "async",
    "cluster.load.async.to.lds": "async",
    "global.store.async.from.lds": "async",
    "tensor.load.to.lds": "tensor",
    "tensor.store.from.lds": "tensor",
}
_WAITS: dict[str, Counter] = {
    "s.wait.asynccnt": "async",
    "s.wait.tensorcnt": "tensor",
    "wait.asyncmark": "marks",
}


def event(text: str, line: int, at: int) -> tuple[Counter, Event] | None:
    """Return what a call does and by what it is counted; ``None`` if nothing of that kind.

    Args:
        text: The call, as it is written.
        line: Its line.
        at: What orders it among others.
    """
    found = _CALL.search(text)
    if found is None:
        return None
    name = found["name"]
    counter = next((c for begin, c in _COUNTED.items() if name.startswith(begin)), None)
    if counter is not None:
        return counter, Commit(line, certain=True, at=at, copies=True)
    if _INTO_LDS.match(name):
        return "marks", Copy(line, None, at=at)
    if name == "asyncmark":
        return "marks", Commit(line, certain=True, at=at)
    if name in _WAITS and found["number"] is not None:
        return _WAITS[name], Wait(line, int(found["number"]), certain=True, at=at)
    return None


def leaves_lds(text: str) -> bool:
    """Whether a call copies out of LDS."""
    return ".from.lds" in text
