"""A request to compile a kernel, and its key in the store."""

import os

import msgspec

from irlens.artifacts import store
from irlens.artifacts.compile_options import changes_output, named_files
from irlens.compiler.capture_files import sha256
from irlens.compiler.sources.description import KernelSource
from irlens.model.capture import MANIFEST_SCHEMA
from irlens.model.config import ConstexprValue, Target
from irlens.model.variants import Relaxation
from irlens.version import VERSION

#: Part of the store's keys. Increment it when the same request produces another capture.
KEY_FORMAT = 2


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel for one GPU.

    Attributes:
        kernel: The kernel's spec, see ``description.find_kernel``.
        sm_count: SMs (AMD: compute units) of the GPU, for grids that depend on it.
        settings: Constexprs and compile options (num_warps, num_stages, ...) by name. They
            override the description and every ``@triton.autotune`` configuration. A dtype is
            "tl.float16".
        args: Run-time arguments or sizes by name, overriding the description: a number, or text
            in the syntax of ``argument_values.parse_argument``, which may name a file of contents.
        grid: CTAs in x, y and z, numbers or expressions, overriding the description.
        run: Also launch the kernel on the local GPU.
        triton: The Triton that compiles: a version ("3.7.1"), or the path of a Python interpreter
            that has one; ``None`` for the installed one. See ``toolchains.environments``.
        passes: Keep the IR before each of the compiler's passes in the capture.
        remarks: Keep what the compiler says in the capture, without the IR of its passes.
        llvm_passes: Also keep what LLVM prints after each of its passes.
        relaxed: Parameters that are compiled as if the file declared them otherwise.
        ttir: The text of a ttir to compile in place of the kernel's own; empty for that. The kernel
            and its settings stay what says how it is launched.
        contents: What tensors of a recorded launch hold, ``.npy`` files by argument.
        told: What was said of them where their launch was given, see ``Config.contents``.
    """

    kernel: str
    target: Target
    sm_count: int | None = None
    settings: dict[str, ConstexprValue] = {}
    args: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()
    run: bool = False
    triton: str | None = None
    passes: bool = False
    remarks: bool = False
    llvm_passes: bool = False
    relaxed: dict[str, Relaxation] = {}
    ttir: str = ""
    fixed: tuple[str, ...] = ()
    contents: dict[str, bytes] = {}
    told: dict[str, str] = {}


def store_key(request: Request, source: KernelSource, triton: str) -> str:
    """Return the store's key of a request: a digest of everything that determines the captures.

    The kernel's local imports are unknown until it has been loaded once; the manifest has their
    hashes, and a lookup compares them. ``triton`` is an identity, see ``versions``.
    """
    environment = compiler_environment()
    printed = {}
    if request.passes or request.llvm_passes:
        from irlens.artifacts import pass_dumps  # most requests print nothing

        # A capture keeps no more of what the compiler printed than can be read.
        printed["printed"] = pass_dumps.most_bytes()
    named = [*request.settings.values(), *environment.values()]
    return store.digest(
        {
            "layout": [KEY_FORMAT, MANIFEST_SCHEMA, VERSION],
            "request": msgspec.structs.replace(
                request, kernel=source.function, triton=None, told={}
            ),
            "path": str(source.path),
            "content": sha256(source.content),
            "triton": triton,
            "environment": environment,
            "files": list(named_files(named).values()),
            **printed,
        }
    )


def compiler_environment() -> dict[str, str]:
    """Return the environment variables that change the compiler's output."""
    return {name: value for name, value in os.environ.items() if changes_output(name)}
