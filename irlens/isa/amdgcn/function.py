"""AMDGPU functions as the engines see them, and the file that holds them."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import msgspec

from irlens.isa.amdgcn import classes, control, memory, registers
from irlens.isa.amdgcn.records import FunctionBody, Metadata, Statement, Unknown
from irlens.isa.dialect import ControlFlow, RegisterUse, Spill


class Function(FunctionBody, frozen=True):
    """A function (``irlens.isa.dialect.Function``)."""

    stage: ClassVar[str] = "amdgcn"

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        return control.control_flow(self)

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""
        return registers.register_use(self)

    def classes(self) -> Iterator[tuple[str, str | None]]:
        """Yield the mnemonic and the class of each operation; ``None`` where it is not known."""
        return classes.classes(self.instructions)

    def spills(self) -> Iterator[Spill]:
        """Yield the instructions that spill or reload."""
        return memory.spills(self.instructions)


class Program(msgspec.Struct, frozen=True):
    """A whole file.

    Attributes:
        target: The operand of ``.amdgcn_target``: "amdgcn-amd-amdhsa--gfx942".
        statements: All of them.
        functions: In the order of the text.
    """

    target: str | None
    statements: tuple[Statement, ...]
    functions: tuple[Function, ...]

    @property
    def kernels(self) -> list[Function]:
        """The functions that a launch can name."""
        return [function for function in self.functions if function.is_kernel]

    @property
    def metadata(self) -> str | None:
        """The YAML of the metadata, unparsed."""
        return next((each.yaml for each in self.statements if isinstance(each, Metadata)), None)

    @property
    def unknown(self) -> dict[str, int]:
        """The number of lines of no known form, by their first word."""
        lines = (each.text.split() for each in self.statements if isinstance(each, Unknown))
        return dict(sorted(Counter(words[0] for words in lines if words).items()))
