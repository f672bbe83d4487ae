"""The vendor's tools (nvdisasm, cuobjdump, ptxas), and what they say, kept.

The Triton wheel carries them; they are run from its directory without importing Triton.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from irlens.artifacts import kept, store
from irlens.model.errors import ToolError

#: Seconds. A cubin of 2 MB (59,000 instructions) takes nvdisasm one.
TIMEOUT = 300.0

#: Code sections only, with the line table and the inlining that led to each line.
_DISASSEMBLE = ("-c", "-gi", "-gp")


_TEMPORARY = re.compile(r"\.\w{8}\.tmp")


def _name(path: Path) -> str | None:
    """Return what a file among the answers is, ``None`` if it is none of them."""
    if _TEMPORARY.fullmatch(path.name):
        return kept.UNFINISHED if store.is_old(path) else None
    return kept.keyed(path, ".gz")


DISASSEMBLY = kept.Kind("disassembly", folder="sass", name=_name)


def find(name: str) -> Path:
    """Return the path of a tool: the installed Triton's own, or else the first on ``PATH``.

    Raises:
        ToolError: It is in neither place.
    """
    for directory in _triton_directories():
        candidate = directory / "backends" / "nvidia" / "bin" / name
        if candidate.is_file():
            return candidate
    on_path = shutil.which(name)
    if on_path is None:
        raise ToolError(
            f"{name} is neither in an installed Triton nor on PATH",
            hint="install triton, or add the CUDA toolkit's bin directory to PATH",
        )
    return Path(on_path)


def version(tool: Path) -> str:
    """Return what a tool says of its own version: the last line of ``--version``.

    Raises:
        ToolError: It cannot be run, fails, or says nothing.
    """
    lines = run(tool, ["--version"]).strip().splitlines()
    if not lines:
        raise ToolError(
            f"{tool.name} --version prints nothing", hint=f"is {tool} what it claims to be?"
        )
    return lines[-1]


def run(
    tool: Path, arguments: Sequence[str], *, directory: Path | None = None, timeout: float = TIMEOUT
) -> str:
    """Run a tool without a shell and with nothing on its standard input.

    Args:
        tool: The executable.
        arguments: Its arguments.
        directory: Where it runs; irlens's own working directory if not given.
        timeout: Seconds after which it is killed.

    Returns:
        Its standard output.

    Raises:
        ToolError: It cannot be started, exits with an error, or takes too long.
    """
    try:
        done = subprocess.run(
            [tool.absolute(), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=directory,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{tool.name} was stopped after {timeout:g} s",
            hint="the input may be damaged, or larger than the tool can handle",
        ) from None
    except OSError as error:
        raise ToolError(
            f"cannot run {tool}: {error.strerror}", hint="reinstall triton or the CUDA toolkit"
        ) from error
    if done.returncode != 0:
        raise ToolError(
            f"{tool.name} failed: {_complaint(done.stderr, done.stdout, done.returncode)}",
            hint=f"the input may be damaged, or made by something newer than this {tool.name}",
        )
    return done.stdout.decode("utf-8", "replace")


def disassemble(cubin: bytes) -> str:
    """Return the machine code of a cubin as nvdisasm prints it, with source lines.

    The answer is kept under irlens's cache directory, by content and tool version, since the
    tool needs 0.3 s even for a small kernel.

    Raises:
        ToolError: nvdisasm is missing or refuses the cubin.
    """
    tool = find("nvdisasm")
    made_by = "\0".join((version(tool), *_DISASSEMBLE)).encode()
    key = hashlib.sha256(hashlib.sha256(cubin).digest() + made_by).hexdigest()
    path = store.root() / DISASSEMBLY.folder / f"{key}.gz"
    text = _read_kept(path)
    if text is None:
        with tempfile.TemporaryDirectory(prefix="irlens-") as directory:
            # A relative name, so that no temporary directory shows in what the tool says.
            Path(directory, "kernel.cubin").write_bytes(cubin)
            text = run(tool, [*_DISASSEMBLE, "kernel.cubin"], directory=Path(directory))
        _keep(path, text)
    return text


def _triton_directories() -> list[Path]:
    spec = find_spec("triton")  # a top-level name is located, not imported
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]


def _complaint(stderr: bytes, stdout: bytes, code: int) -> str:
    """The line in which a tool says what went wrong; its warnings come before it."""
    lines = (stderr or stdout).decode("utf-8", "replace").strip().splitlines()
    telling = [line for line in lines if "fatal" in line or "error" in line]
    if telling or lines:
        return (telling or lines)[-1].strip()
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}, and no message"


def _read_kept(path: Path) -> str | None:
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None  # absent, unreadable or damaged: it is made again, and replaced
    store.touch(path)
    return text or None  # gzip takes an empty file for an empty text


def _keep(path: Path, text: str) -> None:
    """Store an answer whole or not at all. A cache that cannot be written costs time only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(gzip.compress(text.encode(), compresslevel=3, mtime=0))
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
