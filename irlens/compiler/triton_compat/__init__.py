"""The door to Triton: everything that depends on how Triton works inside is in this package.

Written against Triton 3.4 to 3.9. Kernels go through Triton's own just-in-time path
(``JITFunction.run``), so specialisation, constexpr handling and cache entries are Triton's; only
the driver underneath is replaced by one that answers for a GPU that need not be there.
"""

from irlens.compiler.triton_compat.absent_gpu import compile_only, option_defaults, stand_ins
from irlens.compiler.triton_compat.descriptors import with_descriptors
from irlens.compiler.triton_compat.kernels import Kernel, Values, find, plain, variants
from irlens.compiler.triton_compat.launches import watch_launches
from irlens.compiler.triton_compat.nowhere import LoadedFacts, launch_nowhere, toolkit_version
from irlens.compiler.triton_compat.running import (
    Compiled,
    compile_variant,
    private_cache,
    scratch_from,
    times,
)

__all__ = [
    "Compiled",
    "Kernel",
    "LoadedFacts",
    "Values",
    "compile_only",
    "compile_variant",
    "find",
    "launch_nowhere",
    "option_defaults",
    "plain",
    "private_cache",
    "scratch_from",
    "stand_ins",
    "times",
    "toolkit_version",
    "variants",
    "watch_launches",
    "with_descriptors",
]
