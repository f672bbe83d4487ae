"""PyTorch on a GPU that is not there, for programs that are recorded on a machine without one.

``pretending`` is the way in; every other module is one thing that PyTorch would have asked of the
GPU. All but this one may import PyTorch.
"""

from irlens.compiler.fake_cuda.liberties import Liberties, NoGpuError, NoValueError

__all__ = ["Liberties", "NoGpuError", "NoValueError"]
