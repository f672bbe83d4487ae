"""A fake CUDA device for PyTorch programs that are recorded on a machine without a GPU.

``dispatch.install_fake_cuda`` is the entry point. Only this module can be imported without PyTorch.
"""

import msgspec


class NoValueError(RuntimeError):
    """The program asks for a value that only a GPU could have computed.

    Args:
        reason: Why it is unknown, as a clause.
    """

    def __init__(self, what: str, reason: str = "and nothing is computed without a GPU") -> None:
        super().__init__(f"{what} needs values, {reason}")
        self.reason = reason


class NoGpuError(NoValueError, AttributeError):
    """The program asks for a fact that only a GPU's driver has.

    It is an ``AttributeError`` so that ``hasattr`` returns false, as for a missing attribute.
    """

    def __init__(self, what: str) -> None:
        RuntimeError.__init__(self, f"{what} is not known without the GPU")
        self.reason = "and nothing is computed without a GPU"


class Deviations(msgspec.Struct):
    """Counts of what ran differently from a GPU.

    Attributes:
        compared: Comparisons of unknown values that were assumed to succeed.
        computed: Values that were computed on the CPU when the program read them.
        drawn: Whether random numbers of the CPU were among what they depend on.
        unknown: Numbers that the program read and that only a kernel computes: placeholders.
        timed: Times that the program measured: placeholders, or those of ``--assume``.
        finite: Questions whether an unknown number or tensor is finite, assumed to be.
        assumed: Memory with unknown values that was assumed to hold the number of ``--assume``.
        uncompiled: Functions passed to ``torch.compile`` that ran uncompiled.
        untimed: TorchInductor's measurements, which all got the same time.
        unsaved: Calls of ``torch.save`` that wrote nothing, since no memory of a GPU has values.
        unread: Constants that TorchInductor left in memory because their values are unknown.
        attention: Whether attention used PyTorch's flash or memory-efficient kernel; on a GPU the
            choice depends on PyTorch's build.
        memory: Whether the program asked for the GPU's memory: a product's size, of which a driver
            keeps some, and all of it free.
        blind: Child Python processes that could not be followed.
    """

    compared: int = 0
    computed: int = 0
    drawn: bool = False
    unknown: int = 0
    timed: int = 0
    finite: int = 0
    assumed: int = 0
    uncompiled: int = 0
    untimed: int = 0
    unsaved: int = 0
    unread: int = 0
    attention: bool = False
    memory: bool = False
    blind: int = 0

    def clear(self) -> None:
        """Reset all counts, for a forked process."""
        for name in self.__struct_fields__:
            setattr(self, name, type(getattr(self, name))())

    def add(self, other: "Deviations") -> None:
        """Add the counts of another process."""
        for name in self.__struct_fields__:
            own = getattr(self, name)
            setattr(self, name, type(own)(own + getattr(other, name)))
