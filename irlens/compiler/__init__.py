"""Compile kernels with Triton and collect the artifacts.

The only layer that imports Triton and PyTorch, and only once something has to be compiled.
"""

from irlens.compiler.calls.argument_values import parse_value
from irlens.compiler.compile_request import capture, capture_entries, is_stored
from irlens.compiler.local_gpu import Device, find_device
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description, KernelSource, find_kernel, read_kernels
from irlens.compiler.sources.lookup import known_files
from irlens.compiler.toolchains.environments import needs_install

__all__ = [
    "Description",
    "Device",
    "KernelSource",
    "Request",
    "capture",
    "capture_entries",
    "find_device",
    "find_kernel",
    "is_stored",
    "known_files",
    "needs_install",
    "parse_value",
    "read_kernels",
]
