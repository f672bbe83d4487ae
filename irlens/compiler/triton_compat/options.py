"""The compile options of Triton's backends: their defaults, and those of a compiled kernel."""

import os
import re
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from irlens.artifacts.compile_options import changed_options, left_out_variables
from irlens.compiler.triton_compat.jit import Values
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import UnknownNameError


def triton_target(target: Target) -> GPUTarget:
    """Return Triton's target: ("cuda", 90, 32), ("hip", "gfx942", 64)."""
    if target.vendor == "amd":
        return GPUTarget("hip", target.arch, target.warp_size)
    number = re.fullmatch(r"sm_(\d+)[af]?", target.arch)
    if number is None:
        raise UnknownNameError("target", target.arch, [])
    return GPUTarget("cuda", int(number[1]), target.warp_size)


def option_defaults(target: GPUTarget) -> Values:
    """Return the compile options that a target's compiler accepts, with their defaults."""
    return dict(make_backend(target).parse_options({}).__dict__)


def options_of(handle: Any) -> dict[str, ConstexprValue]:
    """Return the options of a compiled kernel as its configuration has them.

    Args:
        handle: Triton's ``CompiledKernel``, compiled by this process in its environment.
    """
    metadata = handle.metadata._asdict() | left_out_variables(os.environ)
    return changed_options(metadata, option_defaults(handle.metadata.target), digests=True)
