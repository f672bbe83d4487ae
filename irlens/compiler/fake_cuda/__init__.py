"""A fake CUDA device for PyTorch programs that are recorded on a machine without a GPU.

``dispatch.install_fake_cuda`` is the entry point. Only this module can be imported without PyTorch.
"""

import msgspec


class NoValueError(RuntimeError):
    """The program asks for a value that only a GPU could have computed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs values, and nothing is computed without a GPU")


class NoGpuError(NoValueError, AttributeError):
    """The program asks for a fact that only a GPU's driver has.

    It is an ``AttributeError`` so that ``hasattr`` returns false, as for a missing attribute.
    """

    def __init__(self, what: str) -> None:
        RuntimeError.__init__(self, f"{what} is not known without the GPU")


class Deviations(msgspec.Struct):
    """Counts of what ran differently from a GPU.

    Attributes:
        compared: Comparisons of tensors that were assumed to succeed.
        uncompiled: Functions passed to ``torch.compile`` that ran uncompiled.
        untimed: TorchInductor's measurements, which all got the same time.
        attention: Whether attention used PyTorch's flash or memory-efficient kernel; on a GPU the
            choice depends on PyTorch's build.
        blind: Child Python processes that could not be followed.
    """

    compared: int = 0
    uncompiled: int = 0
    untimed: int = 0
    attention: bool = False
    blind: int = 0

    def clear(self) -> None:
        """Reset all counts, for a forked process."""
        for name in self.__struct_fields__:
            setattr(self, name, type(getattr(self, name))())

    def add(self, other: "Deviations") -> None:
        """Add the counts of another process."""
        self.compared += other.compared
        self.uncompiled += other.uncompiled
        self.untimed += other.untimed
        self.attention |= other.attention
