"""How long a kernel takes on the GPU of this machine."""

from pathlib import Path
from tempfile import TemporaryDirectory

from irlens.compiler import describe
from irlens.compiler.call import bind, evaluate_grid, resolve
from irlens.compiler.loading import loaded
from irlens.compiler.make import ONE_AT_A_TIME, not_interpreted
from irlens.compiler.messages import held_back
from irlens.compiler.request import Request
from irlens.model.errors import CaptureError
from irlens.model.sweep import Timing


def measure(request: Request) -> Timing:
    """Time a request that leaves nothing open.

    Raises:
        CaptureError: The kernel cannot be compiled or launched, or comes to several variants.
    """
    source = describe.find_kernel(request.kernel)
    with not_interpreted():
        from irlens.compiler import explain, launching
        from irlens.compiler import triton_compat as triton_door

    with (
        ONE_AT_A_TIME,
        TemporaryDirectory(prefix="irlens-") as work,
        triton_door.private_cache(Path(work, "cache")),
        loaded(source) as (module, sources),
        held_back(Path(work, "messages.txt")) as printed,
    ):
        try:
            bench = launching.Bench(request.target, source.description, module)
            kernel = triton_door.find(vars(module), source.function)
            options = triton_door.option_defaults(request.target)
            call = resolve(request, source.description, kernel.parameters(), options)
            tensors = bench.tensors(call.args)
            args = triton_door.with_descriptors(kernel, tensors, call.args)
            settings, *more = triton_door.variants(kernel, args, call.defaults, call.overrides)
            chosen = triton_door.plain(settings)
            grid = evaluate_grid(call, chosen)
            args = triton_door.with_descriptors(kernel, tensors, bind(call, chosen))
            if more or grid is None:
                raise CaptureError(f"{kernel.name}: its configuration or grid is left open")
            return bench.time(kernel, args, settings, grid)
        except (
            Exception
        ) as error:  # whatever Triton, PyTorch, or the file's own functions may raise
            raise explain.explain(error, source.function, sources, printed()) from error
