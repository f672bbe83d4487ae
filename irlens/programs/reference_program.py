"""The program that is recorded for the ledger of a kernel: it runs the kernel's reference.

It is started as ``python -m irlens.programs.reference_program REQUEST`` under the runner.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from irlens.artifacts.processes import Refused
from irlens.compiler.request import Request
from irlens.model.errors import IrlensError, NotInstalledError
from irlens.model.operations import RecordedProgram

#: The module's name, for a job.
MODULE = "irlens.programs.reference_program"


class ReferenceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        function: A function to run in place of the described reference; ``None`` for that.
    """

    requests: tuple[Request, ...]
    function: str | None
    answer: str


class References(msgspec.Struct, frozen=True, tag="references"):
    """The operators of each reference, with its name."""

    references: tuple[tuple[str, RecordedProgram], ...]


def main() -> None:
    """Run the references, and write what they ran."""
    wanted = msgspec.json.decode(sys.argv[1], type=ReferenceRequest)
    answer: References | Refused
    try:
        answer = References(tuple(_recorded(wanted)))
    except IrlensError as error:
        answer = Refused(error.message, error.hint)
    Path(wanted.answer).write_bytes(msgspec.json.encode(answer))


def _recorded(wanted: ReferenceRequest) -> Any:
    import importlib

    try:
        # Importing PyTorch installs the fake GPU, and that the log.
        importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise NotInstalledError("a reference") from error
    from irlens.compiler.operations.log import active
    from irlens.compiler.operations.reference import record_reference

    for request in wanted.requests:
        try:
            yield record_reference(request, wanted.function, active())
        except RuntimeError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            function = wanted.function or "its reference"
            raise IrlensError(f"{request.kernel}: {function} cannot run: {lines[0]}") from error


if __name__ == "__main__":
    main()
