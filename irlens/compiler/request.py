"""What to capture, and the name under which the result is kept."""

import importlib.metadata
import importlib.util
import os
import re
from pathlib import Path

import msgspec

from irlens.artifacts import store
from irlens.compiler.describe import KernelSource
from irlens.compiler.keeping import sha256
from irlens.model.capture import MANIFEST_SCHEMA
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError
from irlens.version import VERSION

#: Raise it when the same request begins to give another capture.
LAYOUT = 1

OLDEST_TRITON = "3.4"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel for one GPU.

    Attributes:
        kernel: Which, see ``describe.find_kernel``.
        target: What to compile for.
        sm_count: SMs (AMD: compute units) of the GPU, for a grid that depends on it.
        settings: Constexprs and compile options (num_warps, num_stages, ...) by name, over the
            description's and over those of every ``@triton.autotune`` configuration.
            A dtype is "tl.float16".
        args: Run-time arguments or sizes by name, over the description's: a number, or text as
            ``values.parse_argument`` reads it.
        grid: CTAs in x, y and z, numbers or expressions, over the description's.
        run: Also launch the kernel on the GPU of this machine.
        triton: Which Triton compiles: a version ("3.7.1"), or the path of a Python interpreter
            that has one; ``None`` for the one that is installed here. See ``environments``.
    """

    kernel: str
    target: Target
    sm_count: int | None = None
    settings: dict[str, ConstexprValue] = {}
    args: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()
    run: bool = False
    triton: str | None = None


#: Variables that Triton, LLVM or MLIR read while compiling.
_COMPILER_VARIABLE = re.compile(
    r"(TRITON|MLIR|LLVM|NVPTX|AMDGCN|DISABLE|ENABLE|ALLOW|PTXAS)_\w+|USE_IR_LOC"
)
#: Of those, the ones that change where things are kept or printed, or that a capture overrules.
_NO_EFFECT = re.compile(
    r"TRITON_(HOME|\w*_DIR|KERNEL_(DUMP|OVERRIDE)|ALWAYS_COMPILE|STORE_BINARY_ONLY|INTERPRET"
    r"|OVERRIDE_ARCH|CACHE_\w+|REMOTE_CACHE_BACKEND|REDIS_\w+|PRINT_AUTOTUNING|DEFAULT_BACKEND)"
    r"|\w+_ENABLE_(DUMP|TIMING)"
)


def key(request: Request, source: KernelSource, triton: str) -> str:
    """Return the store's key: everything that decides what the capture will be.

    The kernel's other local source files are not known before it has been loaded once; the
    manifest has their hashes, and a lookup compares them.

    Args:
        request: What is asked for.
        source: The kernel that it means.
        triton: What tells the compiler from others, see ``triton_identity``.
    """
    return store.digest(
        {
            "layout": [LAYOUT, MANIFEST_SCHEMA, VERSION],
            "request": msgspec.structs.replace(request, kernel=source.function, triton=None),
            "path": str(source.path),
            "content": sha256(source.content),
            "triton": triton,
            "environment": compiler_environment(),
        }
    )


def compiler_environment() -> dict[str, str]:
    """Return the environment variables that change what the compiler makes."""
    return {
        name: value
        for name, value in os.environ.items()
        if _COMPILER_VARIABLE.fullmatch(name) and not _NO_EFFECT.fullmatch(name)
    }


def triton_version() -> str:
    """Return the version of the installed Triton without importing it.

    Raises:
        CaptureError: Triton is not installed.
    """
    return _version(_installed())


def installed_triton() -> str:
    """Return what tells the installed Triton from another, see ``triton_identity``.

    Raises:
        CaptureError: Triton is not installed.
    """
    return triton_identity(_installed())


def triton_identity(package: Path) -> str:
    """Return what tells one Triton from another: its version if it was released.

    One that was built from a checkout has the version of the release to come, however often it
    is built: it is told by its library, too.

    Args:
        package: The file of its package: ``.../triton/__init__.py``.
    """
    version = _version(package)
    records = list(package.parents[1].glob("*triton*.dist-info"))
    # Where pip installed from elsewhere than an index, it says so (PEP 610).
    if records and not any((record / "direct_url.json").exists() for record in records):
        return version
    try:
        library = (package.parent / "_C" / "libtriton.so").stat()
    except OSError:
        return version
    return f"{version} built here ({library.st_size} B, {library.st_mtime_ns})"


def version_of(triton: str) -> str:
    """Return the version of what ``triton_identity`` tells."""
    return triton.partition(" ")[0]


def is_too_old(triton: str) -> bool:
    """Whether irlens cannot compile with a Triton of this version."""
    numbers = [int(number) for number in re.findall(r"\d+", triton)[:2]]
    return numbers < [int(number) for number in OLDEST_TRITON.split(".")]


def _installed() -> Path:
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        raise CaptureError(
            "Triton is not installed, so nothing can be compiled",
            hint="pip install triton (Linux), or give a capture that was made elsewhere",
        )
    return Path(spec.origin)


def _version(package: Path) -> str:
    """Return the version that a Triton's own text states.

    Its distribution has several names (triton, pytorch-triton, triton-windows, ...).
    """
    head = package.read_text("utf-8")
    stated = re.search(r"^__version__ = ['\"]([^'\"]+)['\"]", head, re.MULTILINE)
    return stated[1] if stated else importlib.metadata.version("triton")
