"""Run a kernel's PyTorch reference on the fake GPU, and record its operators.

Its tensors have their real sizes and take no memory.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from irlens.compiler.calls.argument_values import Argument, tensor_of
from irlens.compiler.calls.binding import bind, resolve
from irlens.compiler.fake_cuda.recorded_operators import tensors_in
from irlens.compiler.operations.log import OperationLog
from irlens.compiler.reference import torch_dtype
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description, KernelSource, find_kernel
from irlens.compiler.sources.loading import loaded
from irlens.compiler.triton_compat import jit
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.model.operations import RecordedProgram


def record_reference(
    request: Request, function: str | None, log: OperationLog
) -> tuple[str, RecordedProgram]:
    """Return a reference's name, and the operators that it runs.

    Args:
        request: The kernel, with the sizes and arguments to call the reference with.
        function: Another function of the file to run in its place; its parameters have the names
            of the kernel's.

    Raises:
        CaptureError: There is no reference, or it does not match the description.
        UnknownNameError: The file has no such function.
    """
    source = find_kernel(request.kernel)
    description = _described(source)
    name = function or description.reference
    if name is None:
        raise CaptureError(
            f"{source.function} has no reference to count",
            hint="name one in its description, or with --reference",
        )
    log.is_paused = True
    with loaded(source) as file:
        run = getattr(file.module, name, None)
        if not inspect.isfunction(run):
            functions = [n for n, v in vars(file.module).items() if inspect.isfunction(v)]
            raise UnknownNameError(f"function of {source.path.name}", name, functions)
        kernel = jit.find_kernel(vars(file.module), source.function)
        # Compile options have no effect here.
        call = resolve(request, description, kernel.parameters(), LAUNCH_OPTIONS)
        first = next(iter(kernel.configurations()), {})
        settings = {**kernel.defaults(), **call.defaults, **first, **call.overrides}
        values = _values(bind(call, settings), file.module, description)
        known = {**call.sizes, **settings, **values}
        given = {each: known[each] for each in _parameters(run, known, source)}
        return name, _run(run, given, log)


def _described(source: KernelSource) -> Description:
    if source.description is None:
        raise CaptureError(
            f"{source.path.name} does not describe {source.function}",
            hint="add IRLENS_KERNELS with its args, outputs and reference",
        )
    return source.description


def _parameters(run: Any, known: Mapping[str, Any], source: KernelSource) -> list[str]:
    """Return the names of a function's parameters that are passed."""
    parameters = inspect.signature(run).parameters
    needed = [name for name, each in parameters.items() if each.default is each.empty]
    unknown = [name for name in needed if name not in known]
    if unknown:
        raise CaptureError(
            f"{run.__name__} takes {', '.join(unknown)}, which {source.function} does not have"
        )
    return [name for name in parameters if name in known]


def _values(args: Mapping[str, Argument], module: Any, description: Description) -> dict[str, Any]:
    """Return the arguments; tensors on the fake GPU hold nothing, integers hold zeros."""
    values = {name: _value(argument) for name, argument in args.items()}
    if description.inputs is not None:
        make = getattr(module, description.inputs, None)
        if not inspect.isfunction(make):
            raise CaptureError(f"{module.__file__} has no function '{description.inputs}'")
        wanted = inspect.signature(make).parameters
        values |= make(**{name: values[name] for name in wanted})
    return values


def _value(argument: Argument) -> Any:
    tensor = tensor_of(argument)
    if tensor is None:
        return argument
    dtype = torch_dtype(tensor)
    make = torch.empty if dtype.is_floating_point else torch.zeros
    return make(tensor.shape, dtype=dtype, device="cuda")


def _run(run: Any, given: Mapping[str, Any], log: OperationLog) -> RecordedProgram:
    """Run a function, and return what it ran."""
    log.clear()
    log.is_paused = False
    try:
        result = run(**given)
    finally:
        log.is_paused = True
    return log.program(names=dict(given), outputs=tensors_in(result))
