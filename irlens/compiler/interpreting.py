"""Run a kernel under Triton's interpreter, on the CPU, against its PyTorch reference.

Triton decides on import whether it compiles or interprets, so that a kernel is interpreted in a
process of its own: this file is also that process's entry point. Its standard input and error are
the user's, so that ``breakpoint()`` and ``print`` work in a kernel.
"""

import importlib.util
import subprocess
import sys
from typing import Any

import msgspec

from irlens.artifacts import processes
from irlens.artifacts.processes import Refused
from irlens.compiler.calls.binding import bind, evaluate_formula, require_values, resolve
from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.reference import Reference
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Traffic, find_kernel
from irlens.compiler.sources.loading import loaded
from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue, GridFormula
from irlens.model.errors import CaptureError, IrlensError, NotInstalledError

#: For grids that depend on the GPU: this many programs run one after the other.
SM_COUNT = 4


class Interpretation(msgspec.Struct, frozen=True, tag="done"):
    """What came of interpreting a kernel.

    Attributes:
        sizes: Sizes and constexprs that it ran with, by name.
        reference: Name of the reference function; ``None`` if there is none.
        matches: Whether all outputs match; ``None`` without a reference.
        max_abs_error: Largest absolute difference of an output; ``None`` if it is not finite, or
            without a reference.
        rtol: Tolerance, relative to the reference.
        read: Bytes that all programs load, masked lanes excepted.
        written: Bytes that all programs store.
        formula: What the description's ``traffic`` says of both; ``None`` if it says nothing.
    """

    kernel: str
    grid: tuple[int, int, int]
    sizes: dict[str, ConstexprValue]
    outputs: tuple[str, ...]
    reference: str | None
    matches: bool | None
    max_abs_error: float | None
    rtol: float
    atol: float
    read: int
    written: int
    formula: tuple[int, int] | None


def interpret(request: Request) -> Interpretation:
    """Interpret a kernel in a child process, whose stdin and stderr are this process's.

    Raises:
        CaptureError: PyTorch or NumPy is absent, or the kernel cannot be interpreted.
        UnknownNameError: There is no such kernel, or an override names nothing of it.
    """
    for module, package in (("torch", "PyTorch"), ("numpy", "NumPy")):
        if importlib.util.find_spec(module) is None:
            raise NotInstalledError("--interpret", package)
    ran = subprocess.run(
        processes.command(__name__, msgspec.json.encode(request).decode()),
        env=processes.environment(TRITON_INTERPRET="1"),
        stdout=subprocess.PIPE,
        check=False,
    )
    if not ran.stdout:
        raise CaptureError(
            f"interpreting {request.kernel} ended with exit code {ran.returncode}",
            hint="the traceback above shows the line of the kernel"
            if ran.returncode == 1
            else None,
        )
    answer = msgspec.json.decode(ran.stdout, type=Interpretation | Refused)
    if isinstance(answer, Refused):
        raise CaptureError(answer.message, hint=answer.hint)
    return answer


def run_interpreter(request: Request) -> Interpretation:
    """Interpret a kernel in this process, which has imported Triton to interpret.

    Raises:
        CaptureError: A value is missing or invalid.
    """
    from irlens.compiler.triton_compat.interpreter import Interpreted

    source = find_kernel(request.kernel)
    request = msgspec.structs.replace(request, sm_count=SM_COUNT)
    if source.description is None:
        raise CaptureError(
            f"{source.path.name} does not describe {source.function}",
            hint="add IRLENS_KERNELS with its args, grid, outputs and reference",
        )
    description = source.description
    with loaded(source) as file:
        kernel = Interpreted(vars(file.module), source.function)
        call = resolve(request, description, kernel.parameters, LAUNCH_OPTIONS)
        settings = {**call.defaults, **kernel.config, **call.overrides}
        require_values(source.function, kernel.parameters, call, settings, "", request)
        grid = evaluate_formula(GridFormula(call.grid, {**call.sizes, **settings}), 1)
        if grid is None:
            raise CaptureError(f"{source.function} has no grid", hint="add --grid")
        args = bind(call, settings)
        reference = Reference(description, file.module, "cpu")
        values: dict[str, Any] = reference.tensors(args)
        read, written = kernel.launch(grid, values, args, settings)
        expected = reference.expected({**settings, **values})
        matches, error = (None, None) if expected is None else reference.compare(values, expected)
    names = {**call.sizes, **settings}
    return Interpretation(
        kernel=source.function,
        grid=grid,
        sizes={
            name: value
            for name, value in names.items()
            if name not in (*LAUNCH_OPTIONS, "sm_count")
        },
        outputs=description.outputs,
        reference=description.reference,
        matches=matches,
        max_abs_error=error,
        rtol=description.tolerance.rtol,
        atol=description.tolerance.atol,
        read=read,
        written=written,
        formula=_evaluated(description.traffic, names),
    )


def _evaluated(traffic: Traffic | None, names: dict[str, ConstexprValue]) -> tuple[int, int] | None:
    """Return the bytes read and written by the formulas of a description."""
    if traffic is None:
        return None
    read = evaluate(traffic.read, names, "traffic")
    written = evaluate(traffic.written, names, "traffic")
    if not isinstance(read, int) or not isinstance(written, int):
        raise CaptureError("traffic: a formula does not give a whole number of bytes")
    return read, written


def main() -> None:
    """Run the child process: interpret the request in the first argument."""
    answer: Interpretation | Refused
    with processes.answering() as stream:
        request = msgspec.json.decode(sys.argv[1], type=Request)
        try:
            answer = run_interpreter(request)
        except IrlensError as error:
            answer = Refused(error.message, error.hint)
        stream.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main()
