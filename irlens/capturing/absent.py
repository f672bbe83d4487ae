"""What a program meets where the GPU is not there that it computes with."""

import msgspec


class NoValueError(RuntimeError):
    """What a program gets that asks for a value that only a GPU could have computed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs values, and nothing is computed without a GPU")


class Comparisons(msgspec.Struct):
    """How many comparisons of tensors were taken to hold."""

    number: int = 0
