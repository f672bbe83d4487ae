"""What a program is told where the GPU is not there, and what was done otherwise than on one."""

import msgspec


class NoValueError(RuntimeError):
    """What a program gets that asks for a value that only a GPU could have computed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs values, and nothing is computed without a GPU")


class NoGpuError(NoValueError, AttributeError):
    """What a program gets that asks for what only a GPU's driver could tell; as good as not there.

    Being an ``AttributeError``, it answers ``hasattr`` as the missing thing would.
    """

    def __init__(self, what: str) -> None:
        RuntimeError.__init__(self, f"{what} is not known without the GPU")


class Liberties(msgspec.Struct):
    """What was done otherwise than on a GPU.

    Attributes:
        compared: Comparisons of tensors that were taken to hold.
        uncompiled: Functions given to ``torch.compile`` that ran as they are.
        untimed: Measurements of TorchInductor's that were taken to be all the same.
        attention: Whether PyTorch's flash or memory-efficient kernel was taken for attention, which
            on the GPU is chosen by what PyTorch was built with.
        blind: Python processes that the program started and that could not be followed.
    """

    compared: int = 0
    uncompiled: int = 0
    untimed: int = 0
    attention: bool = False
    blind: int = 0

    def clear(self) -> None:
        """Forget all: from now on another process counts."""
        for name in self.__struct_fields__:
            setattr(self, name, type(getattr(self, name))())

    def add(self, other: "Liberties") -> None:
        """Count what was done in another process, too."""
        self.compared += other.compared
        self.uncompiled += other.uncompiled
        self.untimed += other.untimed
        self.attention |= other.attention
