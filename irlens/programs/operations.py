"""Runs a program on a fake GPU and returns the operations that it ran."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.analyze.fusion.launches import Launches
from irlens.artifacts.load import load
from irlens.artifacts.processes import Refused
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler.request import Request
from irlens.gpus import Gpu
from irlens.isa import mlir
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.operations import Recorded, RecordedProgram
from irlens.programs.job import OPERATIONS, Options, Program
from irlens.programs.record import Run, make_job, program_interpreter, run_job
from irlens.programs.reference_program import MODULE, ReferenceRequest, References

_OPTIONS = Options(operations=True)


def record_operations(
    program: Program, gpu: Gpu, options: Options = _OPTIONS
) -> tuple[Recorded | None, Run]:
    """Return what a program ran, its launches counted, and how it ended.

    Its output goes to stderr.

    Returns:
        ``None`` for a program that never imported PyTorch, or that was killed.

    Raises:
        CaptureError: It cannot be started.
    """
    with TemporaryFolder() as temporary:
        folder = Path(temporary)
        wanted = msgspec.structs.replace(options, operations=True)
        run = _run(program, folder, gpu, wanted)
        written = folder / OPERATIONS
        if not written.exists():
            return None, run
        recorded = msgspec.json.decode(written.read_bytes(), type=Recorded)
        launches = Launches(_read)
        graphs = tuple(
            msgspec.structs.replace(each, after=each.after and _counted(each.after, launches))
            for each in recorded.graphs
        )
        counted = _counted(recorded.program, launches)
        return msgspec.structs.replace(recorded, program=counted, graphs=graphs), run


def _run(program: Program, folder: Path, gpu: Gpu, options: Options) -> Run:
    """Run a program with this interpreter; its output goes to stderr."""
    job = make_job(program, folder, gpu, options)
    python = program_interpreter(None, folder)
    return run_job(job, *python, lambda variants, seconds: None, sys.stderr)


def _counted(program: RecordedProgram, launches: Launches) -> RecordedProgram:
    operations = tuple(map(launches.resolved, program.operations))
    return msgspec.structs.replace(program, operations=operations)


def _read(entry: str) -> tuple[str, mlir.Module] | None:
    """Return the name and the ttir of a kernel in Triton's cache."""
    with suppress(ArtifactError):
        for capture in load(Path(entry)):
            if isinstance(capture, Capture) and "ttir" in capture.stages:
                text = capture.stages["ttir"].text()
                return capture.kernel, mlir.parse(text, stage="ttir")
    return None


def record_references(
    requests: Sequence[Request], function: str | None, gpu: Gpu
) -> list[tuple[str, RecordedProgram]]:
    """Return the name and the operations of each kernel's reference.

    Args:
        function: A function of their file to run in place of the references.

    Raises:
        CaptureError: A reference is missing or cannot run.
    """
    with TemporaryFolder() as temporary:
        folder = Path(temporary)
        answer = folder / "references.json"
        wanted = ReferenceRequest(requests=tuple(requests), function=function, answer=str(answer))
        argument = msgspec.json.encode(wanted).decode()
        program = Program(name=MODULE, is_module=True, arguments=(argument,))
        run = _run(program, folder, gpu, _OPTIONS)
        name = requests[0].kernel
        if run.stopped is not None:
            where = Path(run.stopped).name
            raise CaptureError(f"{name}: the reference reads what is not computed, at {where}")
        if not answer.exists():
            raise CaptureError(f"{name}: the reference ended with exit code {run.code}")
        recorded = msgspec.json.decode(answer.read_bytes(), type=References | Refused)
    if isinstance(recorded, Refused):
        raise CaptureError(recorded.message, hint=recorded.hint)
    return list(recorded.references)
