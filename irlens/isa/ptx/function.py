"""PTX functions as the engines see them, and the module they stand in."""

from collections import Counter

import msgspec

from irlens.isa.dialect import ControlFlow, RegisterUse
from irlens.isa.ptx import control, registers
from irlens.isa.ptx.records import Declaration, FunctionBody, Signature, Statement, Unknown


class Function(FunctionBody, frozen=True, kw_only=True):
    """A function with a body (``irlens.isa.dialect.Function``)."""

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        Raises:
            ArtifactError: A branch to a label, or through a list of labels, that does not exist.
        """
        return control.control_flow(self)

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""
        return registers.register_use(self)


class PtxModule(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed PTX text.

    Attributes:
        version: Of the PTX ISA ("8.7"); ``None`` in a fragment.
        target: First name behind ``.target`` ("sm_90a"); ``None`` in a fragment.
        address_size: 32 or 64 bits; ``None`` where the text does not say.
        files: Base names by their number in ``.file``.
        statements: All of the text in order, functions' bodies included.
        functions: Functions with a body, in order; then the fragment, if there is one.
        declarations: Functions declared without a body.
        variables: Module-level variables.
        trailing: White space and comments behind the last statement.
    """

    version: str | None
    target: str | None
    address_size: int | None
    files: dict[int, str]
    statements: tuple[Statement, ...]
    functions: tuple[Function, ...]
    declarations: tuple[Signature, ...]
    variables: tuple[Declaration, ...]
    trailing: str

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The entry functions and the fragment: what can be analysed as a kernel."""
        return tuple(f for f in self.functions if f.kind != "func")

    @property
    def unknown(self) -> Counter[str]:
        """How often each statement that no rule reads occurs."""
        return Counter(s.text for s in self.statements if isinstance(s, Unknown))

    def text(self) -> str:
        """Return the input, rebuilt from the statements."""
        pieces = [piece for s in self.statements for piece in (s.trivia, s.text)]
        return "".join([*pieces, self.trailing])
