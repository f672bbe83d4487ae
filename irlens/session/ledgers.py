"""The ledger of what a kernel's PyTorch reference moves, from what the user named."""

import msgspec

from irlens import gpus
from irlens.analyze.fusion import ROW_LIMIT, ledger_of
from irlens.compiler.request import Request
from irlens.compiler.sources.description import find_kernels
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError
from irlens.model.ledger import LEDGER_SCHEMA, Ledgers
from irlens.record.operations import record_references


class LedgerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to make ledgers of.

    Attributes:
        kernel: KERNEL.
        target: The GPU to fake.
        settings: Constexprs by name.
        args: Arguments and sizes by name.
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
