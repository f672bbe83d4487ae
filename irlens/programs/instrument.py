"""Instruments a process: notes Triton's launches, and installs a fake GPU.

Launches are noted with what small tensors of integers hold: lengths of sequences, tables of pages
and numbers of experts decide which code a kernel runs and which addresses it reads.
"""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from irlens import gpus
from irlens.analyze.address_slice import written_arguments
from irlens.artifacts import cubin, hsaco
from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.fake_cuda.unknown_numbers import install_math, time_reader
from irlens.compiler.import_hooks import after_import, postpone_dynamo
from irlens.compiler.operations.origins import user_line, watch_origins
from irlens.compiler.tally import Tally
from irlens.compiler.triton_compat import knobs
from irlens.compiler.triton_compat.autotuning import pause_while_measuring
from irlens.isa.dialect import kernel_named
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.programs.job import FAILURES, LAUNCHES, OPERATIONS, TRITON_CACHE, Job

if TYPE_CHECKING:
    from irlens.compiler.capture_files import Launch
    from irlens.compiler.triton_compat.drivers import LoadedFacts
    from irlens.compiler.triton_compat.launch_hooks import Every


#: Returns a tensor of PyTorch on the CPU; ``None`` where its values are not known.
ReadTensor: TypeAlias = Callable[[Any], Any]

#: The most bytes of a tensor, and of all tensors of a launch, that are kept.
MOST_BYTES, MOST_OF_LAUNCH = 1 << 16, 1 << 18


def from_gpu(tensor: Any) -> Any:
    """Return a tensor of a real GPU on the CPU; ``None`` where it cannot be copied now."""
    torch = sys.modules["torch"]
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return None  # a copy would end the capture of a CUDA graph
    return tensor.detach().cpu()


class ContentsReader:
    """Reads what tensors hold, from the GPU unless told otherwise.

    Attributes:
        read_tensor: Reads a tensor; the fake GPU puts its own in place.
    """

    def __init__(self) -> None:
        self.read_tensor: ReadTensor = from_gpu

    def read(self, args: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the small tensors of integers among a launch's arguments, as ``.npy`` files."""
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        tensors = {n: value for n, value in args.items() if isinstance(value, torch.Tensor)}
        # What a kernel writes through one argument changes the others that share its memory.
        memory = Counter(value.untyped_storage()._cdata for value in tensors.values())
        found: dict[str, bytes] = {}
        for name, value in tensors.items():
            if _is_small(value) and memory[value.untyped_storage()._cdata] == 1:
                values = self.read_tensor(value)
                content = b"" if values is None else _npy(values)
                if content and sum(map(len, found.values())) + len(content) <= MOST_OF_LAUNCH:
                    found[name] = content
        return found


def _is_small(tensor: Any) -> bool:
    kind = tensor.dtype
    if kind.is_floating_point or kind.is_complex or "int" not in str(kind):
        return False
    # A kernel reads a view through its strides: what lies between its elements is not kept.
    return 0 < tensor.nbytes <= MOST_BYTES and bool(tensor.is_contiguous())


def _npy(tensor: Any) -> bytes:
    import numpy as np

    content = BytesIO()
    np.save(content, tensor.numpy(), allow_pickle=False)
    return content.getvalue()


def instrument(job: Job, deviations: Deviations, tally: Tally) -> None:
    """Instrument this process, which runs a job's program or is a child of one that does.

    Args:
        deviations: Counts what runs differently from a GPU from now on.
    """
    target = job.target
    contents = ContentsReader() if job.options.contents else None
    if target is not None:
        _install_command(job, target)
        _install_driver(job, target, deviations)
        install_math(deviations)
        postpone_dynamo()
        after_import(
            "torch",
            lambda module: _install_torch_gpu(job, target, deviations, tally, contents),
        )
    knobs.version_as_key(Path(job.folder) / TRITON_CACHE)
    if job.options.configurations is not None:
        from irlens.compiler.triton_compat.autotuning import limit_configurations

        limit_configurations(job.options.configurations)
    pause_while_measuring(tally.paused)
    watch_origins(tally, (job.folder,))
    every = _log_launch if job.options.operations else None
    _note_launches(Path(job.folder), every, tally, contents)


def write_operations(folder: Path) -> None:
    """Write the operators that ran in this process, if it has imported PyTorch."""
    if "torch" not in sys.modules:
        return
    from irlens.compiler.operations.log import active

    (folder / OPERATIONS).write_bytes(msgspec.json.encode(active().recorded()))


def _log_launch(launch: "Launch", name: str, arguments: dict[str, Any]) -> None:
    from irlens.compiler.operations.log import active

    active().launch(launch, name, arguments)


def _note_launches(
    folder: Path, every: "Every | None", tally: Tally, contents: ContentsReader | None
) -> None:
    """Note launches and failures as they happen: a program may be killed by a signal."""
    from irlens.compiler import diagnostics
    from irlens.compiler.capture_files import CompileFailure
    from irlens.compiler.triton_compat.launch_hooks import watch_launches

    encoder = msgspec.json.Encoder()

    def note(record: msgspec.Struct, name: str) -> None:
        # Reopened, since a program may fork; the folder is gone once the recording has ended.
        with suppress(FileNotFoundError), (folder / name).open("ab") as stream:
            stream.write(encoder.encode(record) + b"\n")

    def note_failure(function: Any, error: Exception) -> None:
        if diagnostics.is_compile_error(error):
            kernel, path = function.fn.__name__, Path(function.fn.__code__.co_filename)
            sources = {path: path.read_bytes()} if path.is_file() else {}
            message = diagnostics.reason(error, kernel, sources, printed="").message
            note(CompileFailure(kernel, message), FAILURES)

    def count(
        entry: str, args: dict[str, int | float | str], grid: tuple[int, int, int] | None
    ) -> None:
        line = user_line((str(folder),))
        tally.launch(entry, args, grid, "" if line is None else str(line))

    held = contents.read if contents is not None else lambda args: {}
    watch_launches(lambda launch: note(launch, LAUNCHES), note_failure, every, count, held)


#: What a program may run to find out whether there is a GPU. Like the real one, it answers [N/A] to
#: queries that the GPU does not support.
_NVIDIA_SMI = """#!/bin/sh
fields= header=yes
for option; do
    case $option in
        -L | --list-gpus) echo "GPU 0: "{name}" (UUID: N/A)"; exit ;;
        --query-gpu=*) fields=${{option#*=}} ;;
        *noheader*) header= ;;
    esac
done
[ "$fields" ] || {{ echo "GPU 0: "{name}; exit; }}
[ "$header" ] && echo "$fields"
IFS=", "
line=
for field in $fields; do
    case $field in
        name | gpu_name) value={name} ;;
        compute_cap) value={capability} ;;
        count) value=1 ;;
        index) value=0 ;;
        *) value="[N/A]" ;;
    esac
    line="$line${{line:+, }}$value"
done
echo "$line"
"""


#: Its counterpart on AMD, which names the GPU whatever it is asked for.
_ROCM_SMI = """#!/bin/sh
case "$*" in
    *--json*) printf '{{"card0": {{"Card Series": "%s", "GFX Version": "%s"}}}}\\n' {name} {arch} ;;
    *) printf 'GPU[0]\\t\\t: Card Series: \\t\\t%s\\n' {name} ;;
esac
"""


def _install_command(job: Job, target: Target) -> None:
    """Put ``nvidia-smi`` or ``rocm-smi`` of the fake GPU first on this process's path."""
    quoted = shlex.quote(job.gpu_name)
    if target.vendor == "nvidia":
        digits = target.arch.removeprefix("sm_")
        capability = f"{digits[:-1]}.{digits[-1]}"
        command, text = "nvidia-smi", _NVIDIA_SMI.format(name=quoted, capability=capability)
    else:
        command, text = "rocm-smi", _ROCM_SMI.format(name=quoted, arch=target.arch)
    folder = Path(job.folder, "bin")
    with suppress(FileExistsError):  # in a child, whose path has it
        folder.mkdir()
        (folder / command).write_text(text)
        (folder / command).chmod(0o755)
        os.environ["PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PATH"))))


def _install_driver(job: Job, target: Target, deviations: Deviations) -> None:
    """Install a stub driver for Triton."""
    from irlens.compiler.sources.target_facts import driver_properties
    from irlens.compiler.triton_compat.drivers import install_stub_driver

    row, known = gpus.by_arch(target.arch).arch, driver_properties(target)
    read = _cubin_facts if target.vendor == "nvidia" else _hsaco_facts
    read_time = time_reader(deviations, assumes=job.options.assumed is not None)
    install_stub_driver(target, known, row.threads_per_block, read, written_arguments, read_time)


def _install_torch_gpu(
    job: Job,
    target: Target,
    deviations: Deviations,
    tally: Tally,
    contents: ContentsReader | None,
) -> None:
    """Install a fake GPU for PyTorch, whose tensors' contents are read from now on."""
    from irlens.compiler.fake_cuda.dispatch import install_fake_cuda
    from irlens.compiler.fake_cuda.runtime import GpuFacts
    from irlens.compiler.sources.target_facts import properties_of

    properties = properties_of(target, job.gpu_name)
    facts = GpuFacts(target, job.gpu_name, properties, job.memory)
    if job.options.operations:
        from irlens.compiler.operations import log as operators
        from irlens.compiler.operations.compiled import watch_compiled_graphs

        log = operators.activate()
        log.generated = (job.folder,)
        watch_compiled_graphs(log)
        observe = log.note
    else:
        from irlens.compiler.operations.library_calls import LibraryCalls

        observe = LibraryCalls(tally, (job.folder,)).note
    values = install_fake_cuda(facts, deviations, job.options.assumed, observe)
    if contents is not None:
        contents.read_tensor = values.known


def _cubin_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return the facts that a driver reports for a loaded kernel of a cubin."""
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(cubin.read(binary).kernels, kernel)
    if found is None or found.registers is None or found.local_bytes is None:
        raise CaptureError(f"the cubin of {kernel} does not say how many registers it takes")
    return LoadedFacts(found.registers, found.local_bytes)


def _hsaco_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return the facts that a driver reports for a loaded kernel of a code object."""
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(hsaco.read(binary).kernels, kernel)
    if found is None:
        raise CaptureError(f"the hsaco holds no kernel named {kernel}")
    if found.scratch_bytes is None:
        raise CaptureError(f"the hsaco of {kernel}: {found.doubts['scratch_bytes']}")
    return LoadedFacts(found.registers, found.scratch_bytes)
