"""Compatibility layer over Triton's internals, written against Triton 3.4 to 3.9.

Kernels go through Triton's own just-in-time path (``JITFunction.run``), so specialisation,
constexpr handling and cache entries are Triton's. Only the driver underneath is replaced by one
that needs no GPU.
"""

from irlens.compiler.triton_compat.drivers import (
    LoadedFacts,
    compile_only,
    install_stub_driver,
    option_defaults,
    toolkit_version,
)
from irlens.compiler.triton_compat.execution import (
    Compiled,
    benchmark,
    compile_variant,
    private_cache,
    scratch_from,
)
from irlens.compiler.triton_compat.jit import (
    Kernel,
    Values,
    find_kernel,
    manifest_values,
    variants,
)
from irlens.compiler.triton_compat.launch_hooks import watch_launches
from irlens.compiler.triton_compat.tensors import placeholders, with_descriptors

__all__ = [
    "Compiled",
    "Kernel",
    "LoadedFacts",
    "Values",
    "benchmark",
    "compile_only",
    "compile_variant",
    "find_kernel",
    "install_stub_driver",
    "manifest_values",
    "option_defaults",
    "placeholders",
    "private_cache",
    "scratch_from",
    "toolkit_version",
    "variants",
    "watch_launches",
    "with_descriptors",
]
