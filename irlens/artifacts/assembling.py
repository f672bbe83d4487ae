"""Assembles PTX that came without machine code, by the ptxas at hand."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from irlens.artifacts import tools
from irlens.artifacts.tools import StoppedError
from irlens.model.errors import ToolError
from irlens.model.text import rounded_size

_TARGET = re.compile(r"^[ \t]*\.target[ \t]+(sm_(\d{2,3})[af]?)\b", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\b")
#: The one that Triton carries for Blackwell, beside an older one for all others.
_NEWER = "ptxas-blackwell"
_FIRST_OF_NEWER = 100
#: What Triton's PTX says in its first lines, as all that LLVM writes; nvcc's does not.
_BY_LLVM = "LLVM NVPTX Back-End"
#: Triton 3.9 gives this to CUDA 13's ptxas, which spills other values without it.
_OF_TRITON = ("--regAllocOptLevel=2",)
_FIRST_WITH_IT = 13
_RELEASE = re.compile(r"release (\d+\.\d+)")
#: Bytes of PTX above which ptxas does not end within the time that it gets.
MOST_BYTES = 1_000_000
#: What ptxas says in front of the reason.
_PREFIX = re.compile(r"^.*?(?:fatal|error)\s*:\s*")


class Assembled(msgspec.Struct, frozen=True):
    """A cubin that was made here.

    Attributes:
        by: What made it: "ptxas 12.9".
    """

    cubin: bytes
    by: str


@lru_cache(maxsize=8)
def assemble(ptx: str) -> Assembled | str:
    """Return the cubin of a PTX text for its own ``.target``, or why there is none."""
    target = _TARGET.search(ptx)
    if target is None or _ENTRY.search(ptx) is None:
        return "the ptx is an excerpt, which no ptxas assembles"
    if len(ptx) > MOST_BYTES:
        size, most = rounded_size(len(ptx)), rounded_size(MOST_BYTES)
        return f"the ptx has {size}; irlens assembles {most} at most, since ptxas takes too long"
    problem = "there is no ptxas"
    for tool in _tools(int(target[2])):
        try:
            release = _release(tool)
            return Assembled(_run(tool, release, ptx, target[1]), f"ptxas {release}")
        except StoppedError as error:  # the other one would take as long
            problem = error.message
            break
        except ToolError as error:
            problem = _PREFIX.sub("", error.message)
    return f"ptxas does not assemble the ptx: {problem}"


def _tools(arch: int) -> Iterator[Path]:
    """Yield the assemblers at hand, the one for the architecture first."""
    names = ["ptxas", _NEWER]
    for name in reversed(names) if arch >= _FIRST_OF_NEWER else names:
        try:
            yield tools.find(name)
        except ToolError:
            continue


def _run(tool: Path, release: str, ptx: str, arch: str) -> bytes:
    is_newer = int(release.partition(".")[0]) >= _FIRST_WITH_IT
    own = _OF_TRITON if is_newer and _BY_LLVM in ptx else ()
    with tools.folder_with(tool, "kernel.ptx", ptx.encode()) as directory:
        options = [f"-arch={arch}", "-lineinfo", *own, "-o", "kernel.cubin", "kernel.ptx"]
        tools.run(tool, options, directory=directory)
        return (directory / "kernel.cubin").read_bytes()


def _release(tool: Path) -> str:
    found = _RELEASE.search(tools.run(tool, ["--version"]))
    if found is None:
        raise ToolError(f"{tool} does not say which release it is", hint="reinstall triton")
    return found[1]
