"""How a kernel becomes artifacts: the only layer that knows Triton and PyTorch.

Importing it imports neither; that happens when something has to be compiled.
"""

from irlens.capture.capturing import capture, capture_entries, is_stored
from irlens.capture.request import Request

__all__ = ["Request", "capture", "capture_entries", "is_stored"]
