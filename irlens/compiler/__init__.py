"""How a kernel becomes artifacts: the only layer that knows Triton and PyTorch.

Importing it imports neither; that happens when something has to be compiled.
"""

from irlens.compiler.describe import Description, KernelSource, find_kernel, read_file
from irlens.compiler.device import Device, find_device
from irlens.compiler.environments import must_install
from irlens.compiler.finding import known_files
from irlens.compiler.make import capture, capture_entries, is_stored
from irlens.compiler.request import Request
from irlens.compiler.values import parse_value

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
    "must_install",
    "parse_value",
    "read_file",
]
