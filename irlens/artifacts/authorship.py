"""Tells which captures this user's irlens made.

A capture names the file that it was compiled from, and recompiling it executes that file. Anyone
can write a capture that names any file, so irlens seals what it writes with a key of the user's
own store, and follows a name only under a seal of that key.
"""

import hashlib
import hmac
import os

from irlens.artifacts import store
from irlens.model.capture import SourceFile

_KEY_NAME = "key"
_KEY_BYTES = 32


def sealed(source: SourceFile, kernel: str) -> SourceFile:
    """Return the source of a kernel with this user's seal; without one if there is no key."""
    key = _key(create=True)
    return SourceFile(source.path, source.sha256, _seal(key, source, kernel) if key else "")


def is_own(source: SourceFile, kernel: str) -> bool:
    """Whether the seal of a kernel's source is this user's."""
    key = _key(create=False)
    return key is not None and hmac.compare_digest(_seal(key, source, kernel), source.seal)


def _seal(key: bytes, source: SourceFile, kernel: str) -> str:
    facts = "\0".join((source.path, source.sha256, kernel))
    return hmac.new(key, facts.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _key(*, create: bool) -> bytes | None:
    """Return the key in the user's store, made on first use; ``None`` if there is none."""
    path = store.root() / _KEY_NAME
    try:
        if create and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{_KEY_NAME}-{os.getpid()}-{os.urandom(4).hex()}")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(os.urandom(_KEY_BYTES))  # as `secrets` does, which imports more
            try:
                os.link(temporary, path)  # of two processes the first one's key stays
            except FileExistsError:
                pass
            finally:
                temporary.unlink()
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None
