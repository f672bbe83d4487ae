"""Which Triton compiles: the installed one, another interpreter's, or one that irlens installs.

Their versions and identities are read without importing Triton.
"""

import importlib.util
import re
from pathlib import Path

from irlens.model.errors import CaptureError

OLDEST_TRITON = "3.2"


def triton_version() -> str:
    """Return the version of the installed Triton.

    Raises:
        CaptureError: Triton is not installed.
    """
    return _version(_installed())


def installed_triton() -> str:
    """Return the identity of the installed Triton, see ``triton_identity``.

    Raises:
        CaptureError: Triton is not installed.
    """
    return triton_identity(_installed())


def triton_identity(package: Path) -> str:
    """Return the identity of a Triton: the version of a release, or version and build.

    Every build of a checkout has the version of the upcoming release, so the size and mtime of
    its library are part of the identity.

    Args:
        package: File of the package: ``.../triton/__init__.py``.
    """
    version = _version(package)
    records = list(package.parents[1].glob("*triton*.dist-info"))
    # pip marks packages that it did not install from an index (PEP 610).
    if records and not any((record / "direct_url.json").exists() for record in records):
        return version
    try:
        library = (package.parent / "_C" / "libtriton.so").stat()
    except OSError:
        return version
    return f"{version} built here ({library.st_size} B, {library.st_mtime_ns})"


def version_of(identity: str) -> str:
    """Return the version in an identity of ``triton_identity``."""
    return identity.partition(" ")[0]


def is_too_old(version: str) -> bool:
    """Whether irlens does not support this version of Triton."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return numbers < [int(number) for number in OLDEST_TRITON.split(".")]


def _installed() -> Path:
    """Return the file of the installed Triton's package."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        raise CaptureError(
            "Triton is not installed, so irlens cannot compile",
            hint="pip install triton (Linux), or give a capture that was made elsewhere",
        )
    return Path(spec.origin)


def _version(package: Path) -> str:
    """Return the ``__version__`` in the source of a Triton's package.

    Its distribution has several names (triton, pytorch-triton, triton-windows, ...).
    """
    source = package.read_text("utf-8")
    match = re.search(r"^__version__ = ['\"]([^'\"]+)['\"]", source, re.MULTILINE)
    if match:
        return match[1]
    import importlib.metadata  # rarely needed, and slow to import

    return importlib.metadata.version("triton")
