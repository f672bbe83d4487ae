"""What to capture, and the name under which the result is kept."""

import hashlib
import importlib.metadata
import importlib.util
import os
import re
from pathlib import Path

import msgspec

from irlens.artifacts import store
from irlens.capturing.describe import KernelSource
from irlens.model.capture import MANIFEST_SCHEMA
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError
from irlens.version import VERSION

#: Raise it when the same request begins to give another capture.
LAYOUT = 1


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
    """

    kernel: str
    target: Target
    sm_count: int | None = None
    settings: dict[str, ConstexprValue] = {}
    args: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()
    run: bool = False


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


def key(request: Request, source: KernelSource) -> str:
    """Return the store's key: everything that decides what the capture will be.

    The kernel's other local source files are not known before it has been loaded once; the
    manifest has their hashes, and a lookup compares them.

    Raises:
        CaptureError: Triton is not installed.
    """
    return store.digest(
        {
            "layout": [LAYOUT, MANIFEST_SCHEMA, VERSION],
            "request": msgspec.structs.replace(request, kernel=source.function),
            "path": str(source.path),
            "content": hashlib.sha256(source.content).hexdigest(),
            "triton": triton_version(),
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

    It is read from the package's own text, since the distribution has several names
    (triton, pytorch-triton, triton-windows, ...).

    Raises:
        CaptureError: Triton is not installed.
    """
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        raise CaptureError(
            "Triton is not installed, so nothing can be compiled",
            hint="pip install triton (Linux), or give a capture that was made elsewhere",
        )
    head = Path(spec.origin).read_text("utf-8")
    stated = re.search(r"^__version__ = ['\"]([^'\"]+)['\"]", head, re.MULTILINE)
    return stated[1] if stated else importlib.metadata.version("triton")
