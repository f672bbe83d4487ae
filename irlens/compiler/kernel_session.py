"""Open a kernel's file with Triton: one session at a time in a process."""

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts.processes import with_variables
from irlens.compiler.calls.argument_values import Argument
from irlens.compiler.calls.binding import Call, require_values, resolve
from irlens.compiler.calls.expressions import BUILT_IN
from irlens.compiler.compiler_output import redirect_output
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description, KernelSource
from irlens.compiler.sources.launch_grids import launch_grid
from irlens.compiler.sources.loading import Loaded, describe_error, loaded
from irlens.compiler.sources.running import how_to_run, why_absent
from irlens.compiler.sources.target_facts import driver_properties
from irlens.model.config import Target
from irlens.model.errors import CaptureError, UnknownNameError

if TYPE_CHECKING:  # importing it imports Triton
    from irlens.compiler.triton_compat.jit import Kernel, Values

#: Triton's active driver, its environment and file descriptor 2 belong to the whole process.
_LOCK = threading.Lock()


class KernelSession(msgspec.Struct, frozen=True):
    """A loaded kernel."""

    source: KernelSource
    file: Loaded
    kernel: "Kernel"
    printed: Callable[[], str]

    def expand(
        self, request: Request, values: Callable[[Mapping[str, Argument]], "Values"]
    ) -> tuple[Call, "list[Values]"]:
        """Return a request's call, and the constexprs and options of every variant.

        Args:
            values: Makes the values to call the kernel with, which tuning functions may look at.

        Raises:
            UnknownNameError: An override names no parameter or option of the kernel.
            CaptureError: A value is missing or invalid.
        """
        from irlens.compiler.triton_compat import jit, tensors

        kernel, parameters = self.kernel, self.kernel.parameters()
        known = jit.option_defaults(jit.triton_target(request.target))
        call = resolve(request, self._description(request, known), parameters, known)
        args = tensors.with_descriptors(kernel, values(call.args), call.args)
        try:
            variants = jit.variants(kernel, args, call.defaults, call.overrides)
        except jit.TuningError as error:  # it may lack an argument, even the one that it replaces
            chosen = kernel.chosen() - {error.lacks}
            self._require(request, call, {*call.defaults, *call.overrides, *chosen})
            raise
        for settings in variants:
            self._require(request, call, settings)
        return call, variants

    def _require(self, request: Request, call: Call, settings: Collection[str]) -> None:
        """Raise ``CaptureError`` if a value is missing, see ``require_values``."""
        kernel, path = self.kernel, self.source.path
        parameters = kernel.parameters()
        names = [each.name for each in parameters]
        require_values(
            kernel.name,
            parameters,
            call,
            settings,
            kernel.source,
            request,
            unconfigured=kernel.unconfigured,
            how_to_run=lambda: how_to_run(path) if kernel.unconfigured is None else None,
            launch_grid=lambda: launch_grid(path, kernel.name, names),
            constant=kernel.constant,
        )

    def _description(self, request: Request, known: Collection[str]) -> Description | None:
        """Return how to call the kernel: what of TorchInductor's own call applies to a request."""
        description, generated = self.source.description, self.source.generated
        if description is None or generated is None:
            return description
        options = {name: value for name, value in description.options.items() if name in known}
        if request.target.vendor == "amd":  # PyTorch compiles without assertions there
            options.pop("debug", None)
        # The file need not say every number that the grid depends on.
        given = {*description.sizes, *request.args}
        used = set(re.findall(r"[a-z]\w*", " ".join(map(str, description.grid)))) - BUILT_IN
        grid = description.grid if used <= given else ()
        return msgspec.structs.replace(description, options=options, grid=grid)


@contextmanager
def open_kernel(
    source: KernelSource, workspace: Path, target: Target | None, *, hold_output: bool = True
) -> Iterator[KernelSession]:
    """Load a kernel for a session that compiles into a private cache.

    Args:
        workspace: Folder for Triton's cache and the compiler's output.
        target: Triton's active GPU in the session, for compiling only; ``None`` for the local one.
        hold_output: Whether to hold back the output until the session ends without an error.

    Raises:
        UnknownNameError: The file has no such kernel.
        CaptureError: The file cannot be loaded, or the session raised an exception.
    """
    with _without_interpreter():
        # These import Triton, which takes a third of a second and is not on every machine.
        from irlens.compiler import diagnostics
        from irlens.compiler.triton_compat import drivers, execution, inductor, jit, knobs, startup

    with ExitStack() as stack:
        stack.enter_context(_LOCK)
        # Twice: the file may compile while it is loaded, and it may set knobs.
        stack.enter_context(execution.private_cache(workspace / "cache"))
        if target is not None:
            stack.enter_context(drivers.compile_only(target, driver_properties(target)))
            startup.prepare_specialization()
        stack.enter_context(knobs.replacements_undone())
        toolkit = drivers.toolkit_version(target) if target is not None else None
        file = stack.enter_context(loaded(source, target, toolkit))
        stack.enter_context(execution.private_cache(workspace / "cache"))
        printed: Callable[[], str] = str
        try:
            try:
                kernel = jit.find_kernel(vars(file.module), source.function)
            except UnknownNameError as error:
                raise why_absent(source.path, source.content, source.function) or error from error
            if source.generated is not None:
                kernel = inductor.specialized(kernel, source.generated, target)
            if hold_output:
                printed = stack.enter_context(redirect_output(workspace / "output.txt"))
            yield KernelSession(source, file, kernel, printed)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except (
            BaseException
        ) as error:  # Triton, PyTorch and the file's functions may raise anything
            if not isinstance(error, Exception):  # such as SystemExit
                raise CaptureError(describe_error(source.path, error)) from error
            raise diagnostics.explain(error, source.function, file, printed()) from error


def import_compiler() -> None:
    """Import what ``open_kernel`` imports of Triton, which takes a third of a second."""
    with _without_interpreter():
        from irlens.compiler.triton_compat import startup

        startup.prepare_specialization()


def _without_interpreter() -> AbstractContextManager[None]:
    """Hide ``TRITON_INTERPRET``: a Triton imported with it set cannot compile its own library."""
    return with_variables({}, without=("TRITON_INTERPRET",))
