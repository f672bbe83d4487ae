"""Runs a program on a fake GPU and returns the operations that it ran."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from irlens.compiler.request import Request
from irlens.gpus import Gpu
from irlens.model.errors import CaptureError
from irlens.model.operations import RecordedProgram
from irlens.record.job import Options
from irlens.record.record import Program, make_job, program_interpreter, run_job
from irlens.record.reference_program import MODULE, Recorded, ReferenceRequest, Refused

_OPTIONS = Options(operations=True)


def record_references(
    requests: Sequence[Request], function: str | None, gpu: Gpu
) -> list[tuple[str, RecordedProgram]]:
    """Return the name and the operations of each kernel's reference.

    Args:
        requests: The kernels.
        function: A function of their file to run in place of the references.
        gpu: The GPU to fake.

    Raises:
        CaptureError: A reference is missing or cannot run.
    """
    with TemporaryDirectory(prefix="irlens-") as temporary:
        folder = Path(temporary)
        answer = folder / "references.json"
        wanted = ReferenceRequest(requests=tuple(requests), function=function, answer=str(answer))
        argument = msgspec.json.encode(wanted).decode()
        program = Program(name=MODULE, is_module=True, arguments=(argument,))
        job = make_job(program, folder, gpu, _OPTIONS)
        run = run_job(job, *program_interpreter(None, folder), lambda variants, seconds: None)
        name = requests[0].kernel
        if run.stopped is not None:
            where = Path(run.stopped).name
            raise CaptureError(f"{name}: the reference reads what is not computed, at {where}")
        if not answer.exists():
            raise CaptureError(f"{name}: the reference ended with exit code {run.code}")
        recorded = msgspec.json.decode(answer.read_bytes(), type=Recorded | Refused)
    if isinstance(recorded, Refused):
        raise CaptureError(recorded.message, hint=recorded.hint)
    return list(recorded.references)
