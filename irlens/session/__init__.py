"""One path from what the user named, and the configurations requested of it, to finished records.

The command line, the TUI, the MCP server and the library take it.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from irlens.model import files
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError

#: Endings of files that may be a log with the kernels that TorchInductor generated.
_LOGS = frozenset({"", ".txt", ".log", ".out", ".err", ".md"})

Axis: TypeAlias = tuple[str, tuple[str, ...]]


class Configurations(msgspec.Struct, frozen=True, kw_only=True):
    """The configurations that one command line requests: every combination of its values.

    Attributes:
        targets: GPUs; empty for the default.
        settings: Values of each option and constexpr, as written.
        grid: CTAs in x, y and z of every configuration, numbers or expressions; empty for the
            description's.
        tritons: Versions or interpreters to compile with; empty for the installed Triton.
        run: Launch the kernel (``True``), only compile (``False``), or launch if possible
            (``None``).
    """

    targets: tuple[str, ...] = ()
    settings: tuple[Axis, ...] = ()
    args: tuple[Axis, ...] = ()
    grid: tuple[str, ...] = ()
    tritons: tuple[str, ...] = ()
    run: bool | None = None

    def combinations(
        self,
    ) -> Iterator[tuple[str | None, dict[str, ConstexprValue], dict[str, ConstexprValue]]]:
        """Yield target, settings and arguments of every combination, the last option fastest."""
        from irlens.compiler.calls.argument_values import parse_value

        for target, settings, args in self.as_written():
            yield target, {name: parse_value(value) for name, value in settings.items()}, dict(args)

    def as_written(self) -> Iterator[tuple[str | None, dict[str, str], dict[str, str]]]:
        """Yield the same combinations with every value as its text."""
        for target in self.targets or (None,):
            for settings in _product(self.settings):
                for args in _product(self.args):
                    yield target, settings, args

    @property
    def is_empty(self) -> bool:
        """Whether no option selects anything, so that what is compiled stays as it is."""
        return not self.run and msgspec.structs.replace(self, run=None) == Configurations()

    @property
    def is_launch(self) -> bool:
        """Whether the options only say how, and on which product, something compiled is launched.

        So they can complete what does not say it itself, and need no compiler.
        """
        launched = Configurations(targets=self.targets, args=self.args, grid=self.grid)
        return not self.run and msgspec.structs.replace(self, run=None) == launched

    @property
    def is_single(self) -> bool:
        """Whether there is one combination, for one Triton."""
        return len(self.tritons) <= 1 and len(list(self.as_written())) == 1

    def by_triton(self) -> "list[Configurations]":
        """Return one selection for each Triton."""
        return [msgspec.structs.replace(self, tritons=(triton,)) for triton in self.tritons]


def is_compiled(kernel: str) -> bool:
    """Whether KERNEL exists in compiled form, so that options have nothing to choose.

    ``softmax`` names the sample even next to a directory of that name; ``./softmax`` names the
    directory.
    """
    if kernel == "-":
        return True
    if not kernel:  # a shell's variable that is not set: for Python, the working directory
        return False
    path, _ = files.numbered(Path(kernel).expanduser())
    if path.suffix == ".py" or ".py:" in kernel:
        return False
    path, _ = files.of_kernel(path)
    kind = files.kind(path)
    if kind == "directory" and "/" not in kernel:
        from irlens.compiler.sources.lookup import known_files

        return path.name not in known_files()
    if kind == "file" and path.suffix in _LOGS:
        from irlens.compiler.sources.lookup import is_log_of_kernels

        return not is_log_of_kernels(path)
    return kind is not None or ("/" in kernel and ":" not in kernel)


def names_a_source(kernel: str) -> IrlensError:
    """Return the error for a capture whose source would be compiled, and so executed."""
    return IrlensError(
        f"{kernel} is already compiled, and this server executes nothing that a capture names",
        hint="leave out the options, or name the kernel's source; `inspect` takes the launch of a"
        " Triton cache entry",
    )


def refuse_options(kernel: str, configurations: Configurations) -> None:
    """Raise ``IrlensError`` if options select configurations of something finished."""
    if not configurations.is_empty:
        raise IrlensError(
            f"{kernel} is already compiled: --target, --set and similar options have no effect",
            hint="remove these options, or name the kernel's source",
        )


def _product(axes: tuple[Axis, ...]) -> Iterator[dict[str, str]]:
    for name, values in axes:
        if not values:
            raise IrlensError(f"{name}: a value is missing")
    names = [name for name, _ in axes]
    for values in itertools.product(*(values for _, values in axes)):
        yield dict(zip(names, values, strict=True))
