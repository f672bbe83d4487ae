"""Reading files that a user has named, or that lie where one was named."""

from pathlib import Path

from irlens.model.errors import ArtifactError

#: What to do about a path that leads to nothing.
RIGHT_PATH = (
    "name a kernel (FILE.py:KERNEL), a Triton cache (such as ~/.triton/cache), one of its entries, "
    "or a single artifact: NAME.ttir, .ttgir, .llir, .ptx, .cubin, .amdgcn, .hsaco"
)


def read(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        ArtifactError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> ArtifactError:
    """Return what to tell of a file or directory that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return ArtifactError(f"there is no {path}", hint=RIGHT_PATH)
    return ArtifactError(f"cannot read {path}: {error.strerror}", hint=RIGHT_PATH)
