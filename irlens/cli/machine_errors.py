"""Errors of the machine, as one line each: a full disk, too little memory, too few descriptors.

Any command can meet them anywhere, so that they are converted where every command ends.
"""

import errno
from pathlib import Path

from irlens.model.errors import IrlensError

_MEMORY_HINT = "free memory or raise the limit (ulimit -v), or use fewer --jobs"
_FULL_HINT = "free space, or name another place: --output, IRLENS_CACHE_DIR, TMPDIR"
_HINTS = {
    errno.EMFILE: "raise the limit (ulimit -n), or use fewer --jobs",
    errno.ENFILE: "close other programs: the machine has a limit, too",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.ENOSPC: _FULL_HINT,
    errno.EDQUOT: _FULL_HINT,
    errno.EROFS: _FULL_HINT,
    errno.ENOMEM: _MEMORY_HINT,
    errno.EAGAIN: "end other processes or raise the limit (ulimit -u), or use fewer --jobs",
    errno.ENAMETOOLONG: "use shorter names",
}
#: How the dynamic linker and OpenBLAS say that there is no memory.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")


def explain(error: BaseException) -> IrlensError | None:
    """Return an error of the machine in the form of irlens's own; ``None`` for any other."""
    if isinstance(error, MemoryError):
        return IrlensError("out of memory", hint=_MEMORY_HINT)
    if isinstance(error, OSError):
        return _explain_os_error(error)
    if isinstance(error, ImportError):
        cause: BaseException | None = error
        while cause is not None:
            if any(words in str(cause) for words in _NO_MEMORY):
                return IrlensError("out of memory: a library cannot be loaded", hint=_MEMORY_HINT)
            cause = cause.__cause__ or cause.__context__
    return None


def _explain_os_error(error: OSError) -> IrlensError | None:
    if isinstance(error, FileNotFoundError) and is_folder_gone():
        return IrlensError(
            "the working directory does not exist any more", hint="change to another directory"
        )
    hint = _HINTS.get(error.errno or 0)
    if hint is None:
        return None
    what = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return IrlensError(f"{what[:300]}{error.strerror}", hint=hint)


def is_folder_gone() -> bool:
    """Whether the working directory was removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
