"""How a kernel becomes artifacts: the only layer that knows Triton and PyTorch.

Importing it imports neither; that happens when something has to be compiled.
"""

from irlens.capturing.describe import Description, KernelSource, find_kernel, read_file
from irlens.capturing.device import Device, find_device
from irlens.capturing.environments import must_install
from irlens.capturing.finding import known_files
from irlens.capturing.make import capture, capture_entries, is_stored
from irlens.capturing.request import Request
from irlens.capturing.values import parse_value

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
