"""Ledgers of what a kernel's PyTorch reference or a program moves, from what the user named."""

from pathlib import Path

import msgspec

from irlens import gpus
from irlens.analyze.fusion import ROW_LIMIT, ledger_of
from irlens.compiler.request import Request
from irlens.compiler.sources.description import find_kernels
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError
from irlens.model.ledger import LEDGER_SCHEMA, Ledgers
from irlens.model.operations import Recorded
from irlens.programs import Options, Program
from irlens.programs.operations import record_operations, record_references


class LedgerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to make ledgers of.

    Attributes:
        function: A function of the kernel's file to run in place of its reference.
        row_limit: Elements of a row that one CTA is assumed to keep on chip.
    """

    kernel: str
    target: str
    settings: dict[str, ConstexprValue] = {}
    args: dict[str, ConstexprValue] = {}
    function: str | None = None
    row_limit: int = ROW_LIMIT


def reference_ledgers(wanted: LedgerRequest) -> Ledgers:
    """Return the ledger of the reference of each kernel that a name stands for.

    Raises:
        CaptureError: No kernel has a reference, or one cannot run.
        UnknownNameError: There is no such kernel, GPU, argument or function.
    """
    gpu = gpus.find(wanted.target)
    sources = find_kernels(wanted.kernel)
    described = [each for each in sources if each.description is not None]
    if not described:
        raise CaptureError(
            f"{sources[0].path.name} does not describe {sources[0].function}",
            hint="add IRLENS_KERNELS with its args, outputs and reference; a program is counted "
            "with --program",
        )
    requests = [
        Request(
            kernel=f"{each.path}:{each.function}",
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=wanted.settings,
            args=wanted.args,
        )
        for each in described
    ]
    recorded = record_references(requests, wanted.function, gpu)
    return Ledgers(
        schema=LEDGER_SCHEMA,
        subject=wanted.kernel,
        ledgers=[
            ledger_of(program, name, "reference", row_limit=wanted.row_limit)
            for name, program in recorded
        ],
    )


def is_program(name: str) -> bool:
    """Whether a name is a Python file that describes no kernel, so that it can only be run."""
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        return False
    try:
        return all(each.description is None for each in find_kernels(name))
    except CaptureError as error:  # it has no kernel, or is not Python
        return "has no @triton.jit function" in error.message


def program_ledgers(
    program: Program, target: str, options: Options, row_limit: int = ROW_LIMIT
) -> tuple[Ledgers, str | None]:
    """Return the ledger of a program and those of its compiled functions, and how it failed.

    Args:
        row_limit: Elements of a row that one CTA is assumed to keep on chip.

    Returns:
        The ledgers; and why the program ended early, ``None`` if it did not.

    Raises:
        CaptureError: The program cannot be started, or ran nothing on the GPU.
        UnknownNameError: There is no such GPU.
    """
    recorded, run = record_operations(program, gpus.find(target), options)
    failure = None
    if run.stopped is not None:
        failure = f"the program could not continue at {run.stopped}"
    elif run.code != 0:
        failure = f"the program exited with code {run.code}"
    if recorded is None or not recorded.program.operations:
        raise CaptureError(failure or "the program ran nothing on the GPU")
    ledgers = [ledger_of(recorded.program, program.name, "program", row_limit=row_limit)]
    for graph in recorded.graphs:
        if graph.before is not None:
            ledgers.append(ledger_of(graph.before, graph.name, "eager", row_limit=row_limit))
        if graph.after is not None:
            ledgers.append(ledger_of(graph.after, graph.name, "compiled", row_limit=row_limit))
    notes = [*_notes(recorded), *([f"{failure}: the rest is missing"] if failure else [])]
    return Ledgers(
        schema=LEDGER_SCHEMA, subject=program.name, ledgers=ledgers, notes=notes
    ), failure


def _notes(recorded: Recorded) -> list[str]:
    notes = [
        "the program ran on a fake GPU: launches did nothing, and values were computed on the CPU",
    ]
    if recorded.dropped:
        notes.append(f"{recorded.dropped:,} operations beyond the first 50,000 are left out")
    notes += [
        f"{graph.name} before compilation is unknown: {graph.reason}"
        for graph in recorded.graphs
        if graph.before is None
    ]
    return notes
