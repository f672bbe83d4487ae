"""Reads untrusted files: regular files of limited size, which stay in the capture they belong to.

A capture may come from a stranger, and a report of it may end in a public comment. A link in it to
a file elsewhere would publish that file, a device or a pipe would never end, and an analysis needs
a multiple of its input's size in memory. What irlens itself writes is replaced atomically.
"""

import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.text import rounded_size

#: The environment variable with the size limit of one input in MB, and its default: five times the
#: largest artifact seen. Hostile text takes a hundred times its size in memory.
LIMIT_VARIABLE = "IRLENS_MAX_INPUT_MB"
_DEFAULT_LIMIT_MB = 16
_MB = 1_000_000

#: What bounds the time of parsing and analysis: the characters that end lines, statements, labels
#: and scopes, and all that may begin a token. The largest artifacts known have less than half.
_STATEMENT_ENDS = b"\n;:{}"
_MOST_STATEMENTS = 400_000
_WORDS = bytes(each for each in range(256) if each > 127 or chr(each).isalnum() or each in b"_$")
_MOST_TOKENS = 4_100_000

# Windows has none of these flags.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)

#: A blob, or a number that no compiler writes: converting one takes quadratic time.
_MOST_DIGITS = 1000
_DIGITS = re.compile(rb"(?<!\w)0[xX][0-9a-fA-F]{%d,}|\d{%d,}" % (_MOST_DIGITS, _MOST_DIGITS))
_AS_ZEROS = bytes(ord("0") if chr(each) in "0123456789abcdefABCDEF" else 32 for each in range(256))

#: What decoding untrusted JSON, TOML or MessagePack raises: malformed or of other types, not UTF-8,
#: nested too deeply.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: What parsing Python raises: it is malformed, has null bytes, is nested too deeply.
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)

#: Why a path is refused.
NOT_UTF8 = "its path is not UTF-8"

#: Seconds in which a file may not be locked yet by who made it.
_NEW = 10.0
#: What ``replace`` writes first: its names hold the file's, and the id of the process.
TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)(?:\.[0-9a-f]{8})?\.tmp", re.DOTALL)

#: When a file was written last, its size, and which one it is.
State: TypeAlias = tuple[int, int, int]

_OUTSIDE = "copy the capture with `cp -rL` if its links can be trusted"


def read(
    path: Path,
    *,
    within: Path | None = None,
    most: int | None = None,
    multiple: int = 1,
    hint: str | None = None,
) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file. A link that the user names is followed.
        within: The directory that the file, links followed, must not leave.
        most: Return this many bytes at most, of a file of any size.
        multiple: Allow a file this many times as large as an artifact.
        hint: The hint of the error if it cannot be read.

    Raises:
        ArtifactError: It leaves ``within``, is not a regular file, is too large or unreadable.
    """
    try:
        handle = os.open(path, _FLAGS) if within is None else _open_within(path, within)
        try:
            return _read(handle, path, most, multiple)
        finally:
            os.close(handle)
    except OSError as error:
        raise unreadable(path, error, hint) from error
    except ValueError as error:  # a NUL in the name
        raise ArtifactError(f"cannot read {path}: no file has such a name", hint=hint) from error


def require_utf8(path: Path) -> None:
    """Refuse a path that is not UTF-8: Triton takes no other, nor do reports.

    Raises:
        ArtifactError: It is not.
    """
    if not is_utf8(path):
        raise ArtifactError(f"{path}: {NOT_UTF8}", hint="rename it")


def is_utf8(path: Path | str) -> bool:
    """Whether a path is UTF-8, as Triton and reports need it; Linux allows any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def state(path: Path | str) -> State | None:
    """Return what differs once a file was written or replaced; ``None`` if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # a text is not made a path, which takes longer
    except (OSError, ValueError):  # such as a NUL in the name
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def states(paths: Iterable[Path | str]) -> dict[str, State]:
    """Return the ``state`` of each file that exists, by its path."""
    return {str(path): found for path in paths if (found := state(path)) is not None}


def replace(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file completely or not at all; one that exists is replaced atomically.

    Args:
        path: The file, in a directory that exists.
        pieces: Its content. If making them fails, the file stays as it is.

    Raises:
        OSError: It cannot be written.
    """
    # Processes of several containers that share the directory may have the same id.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("wb") as file:
            _lock(file.fileno())
            file.writelines(pieces)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def remove_abandoned(path: Path) -> None:
    """Remove what ``replace`` left beside a file when its process was killed.

    Files of other names, those that a process is writing, and new ones are left alone.
    """
    with suppress(OSError):
        for each in path.parent.iterdir():
            named = TEMPORARY.fullmatch(each.name)
            if named and named["name"] == path.name and _is_abandoned(each):
                each.unlink()


def _lock(handle: int) -> bool:
    """Lock an open file until its last descriptor is closed; return whether that is possible."""
    try:
        import fcntl  # Windows has none

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _is_abandoned(path: Path) -> bool:
    """Whether a file is not new, and no process holds its lock."""
    try:
        handle = os.open(path, _FLAGS | _NO_FOLLOW)
    except OSError:
        return False
    try:
        return time.time() - os.fstat(handle).st_mtime >= _NEW and _lock(handle)
    finally:
        os.close(handle)


def numbered(path: Path) -> tuple[Path, int | None]:
    """Return the file and the number that ``FILE#3`` names; a path that exists is only itself."""
    name, _, number = path.name.rpartition("#")
    if name and number.isdecimal() and len(number) < 10 and kind(path) is None:
        return path.with_name(name), int(number)
    return path, None


def of_kernel(path: Path) -> tuple[Path, str | None]:
    """Return the path and the kernel that ``PATH:NAME`` names; a path that exists is only itself.

    A shell that completes a folder leaves "recording/:NAME".
    """
    name, colon, kernel = path.name.rpartition(":")
    if not colon or not kernel.isidentifier() or kind(path) is not None:
        return path, None
    holder = path.with_name(name) if name else path.parent
    return (path, None) if kind(holder) is None else (holder, kernel)


def kind(path: Path) -> Literal["file", "directory", "other"] | None:
    """Return what is at a path, links followed; ``None`` if nothing can be reached there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def text(content: bytes, *, name: object) -> str:
    """Return content decoded as UTF-8; undecodable bytes become U+FFFD.

    Raises:
        ArtifactError: It holds a NUL, as no text does and a file that was written badly may, or a
            number too long to be one, or more statements than any compiler writes.
    """
    nul = content.find(b"\0")
    if nul >= 0:
        raise _not_text(content, nul, name, "a NUL")
    check_statements(content, name)
    for match in _DIGITS.finditer(content) if _may_hold_digits(content) else ():
        if match[0][:2] not in (b"0x", b"0X"):
            digits = len(match[0])
            raise _not_text(content, match.start(), name, f"a number of {digits:,} digits")
    return content.decode("utf-8", "replace")


def _may_hold_digits(content: bytes) -> bool:
    """Whether the content has a run of digits as long as ``_DIGITS`` looks for; this is faster."""
    return b"0" * _MOST_DIGITS in content.translate(_AS_ZEROS)


def check_statements(content: bytes, name: object) -> None:
    """Raise ``ArtifactError`` for text that would take too long to parse, whatever its format.

    What compares two texts checks both together.
    """
    scale = size_limit() / (_DEFAULT_LIMIT_MB * _MB)
    if len(content) <= int(_MOST_STATEMENTS * scale):  # neither count is larger
        return
    statements = len(content) - len(content.translate(None, _STATEMENT_ENDS))
    tokens = len(content.translate(None, _WORDS))
    for count, most, what in (
        (statements, _MOST_STATEMENTS, "lines and statements"),
        (tokens, _MOST_TOKENS, "tokens"),
    ):
        limit = int(most * scale)
        if count > limit:
            raise ArtifactError(
                f"{name} has more than {limit:,} {what}",
                hint=f"set {LIMIT_VARIABLE} to read larger ones; memory grows with the size",
            )


def _not_text(content: bytes, at: int, name: object, what: str) -> ArtifactError:
    line = content.count(b"\n", 0, at) + 1
    return ArtifactError(
        f"line {line} of {name} holds {what}, so it is damaged",
        hint="compile the kernel again, or copy it again",
    )


def leaves(path: Path, directory: Path) -> bool:
    """Whether a path, links followed, is outside a directory or cannot be followed."""
    try:
        return not path.resolve(strict=True).is_relative_to(directory.resolve())
    except (OSError, RuntimeError, ValueError):
        return True


def outside(path: Path) -> ArtifactError:
    """Return the error for a file that a link or its name leads out of a capture."""
    return ArtifactError(f"{path} leads out of its capture and is not read", hint=_OUTSIDE)


def unreadable(path: Path, error: OSError, hint: str | None = None) -> ArtifactError:
    """Return the error for a file or directory that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return ArtifactError(f"there is no {path}", hint=hint)
    return ArtifactError(f"cannot read {path}: {error.strerror}", hint=hint)


def check_size(size: int, name: object, *, multiple: int = 1) -> None:
    """Raise ``ArtifactError`` for an input of more bytes than the limit, or a multiple of it."""
    limit = size_limit() * multiple
    if size > limit:
        raise ArtifactError(
            f"{name} is larger than {rounded_size(limit)}, the limit for one input",
            hint=f"set {LIMIT_VARIABLE} to read larger ones; memory grows with the size",
        )


def size_limit() -> int:
    """Return the size limit of one input in bytes.

    Raises:
        IrlensError: The environment variable is not a positive number.
    """
    chosen = os.environ.get(LIMIT_VARIABLE)
    if not chosen:
        return _DEFAULT_LIMIT_MB * _MB
    if not (chosen.isascii() and chosen.isdigit() and int(chosen[:9])):
        raise IrlensError(  # about no artifact, which would be skipped or called broken
            f"{LIMIT_VARIABLE} is '{chosen}'", hint="set it to a whole number of megabytes"
        )
    return int(chosen[:9]) * _MB


def _open_within(path: Path, within: Path) -> int:
    """Open a file below a directory; no link that appears meanwhile leads out of it."""
    folder, _, name = str(path).rpartition(os.sep)  # faster than paths, for each file read
    if _NO_FOLLOW and folder == str(within) and name != "..":
        # A file of the directory itself that is no link cannot leave it.
        with suppress(OSError):
            return os.open(path, _FLAGS | _NO_FOLLOW)
    home = within.resolve()
    real = path.resolve()
    if not real.is_relative_to(home) or real == home:
        raise outside(path)
    if os.open not in os.supports_dir_fd:
        return os.open(real, _FLAGS)
    *folders, name = real.relative_to(home).parts
    handle = os.open(within, _FLAGS | _FOLDER)
    try:
        for each in folders:
            parent = handle
            handle = os.open(each, _FLAGS | _FOLDER | _NO_FOLLOW, dir_fd=parent)
            os.close(parent)
        return os.open(name, _FLAGS | _NO_FOLLOW, dir_fd=handle)
    finally:
        os.close(handle)


def _read(handle: int, path: Path, most: int | None, multiple: int) -> bytes:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(
            f"{path} is neither a file nor a directory",
            hint="pipe its content to irlens, and name it -",
        )
    if most is not None:
        return os.read(handle, most)
    check_size(status.st_size, path, multiple=multiple)
    content = os.read(handle, status.st_size + 1)
    if 0 < len(content) == status.st_size:
        return content
    while more := os.read(handle, 1 << 20):  # a file that grows, or claims to be empty
        content += more
        check_size(len(content), path, multiple=multiple)
    return content
