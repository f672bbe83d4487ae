"""What a set of requests comes to, without compiling: every variant, with the values it has.

An autotuned kernel's configurations are in its file, which has to be executed to know them.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from irlens.capturing import describe
from irlens.capturing.call import require, resolve
from irlens.capturing.describe import Description
from irlens.capturing.loading import loaded
from irlens.capturing.make import ONE_AT_A_TIME, not_interpreted
from irlens.capturing.request import Request, triton_version
from irlens.capturing.values import recorded
from irlens.model.config import ConstexprValue

if TYPE_CHECKING:  # importing it imports Triton
    from irlens.capturing.triton_door import Kernel


class PlannedVariant(msgspec.Struct, frozen=True):
    """One variant of a request.

    Attributes:
        request: The same with nothing left to choose.
        names: Every value an expression about it may use: constexprs, compile options, sizes
            and arguments that are numbers.
    """

    request: Request
    names: dict[str, ConstexprValue]


class Plan(msgspec.Struct, frozen=True):
    """What there is to compile.

    Attributes:
        function: The kernel function's name.
        variants: In the order of the requests; what is equal is there once.
        triton_version: The compiler's version.
        dependencies: sha256 of the kernel's file and of each local one that it loads, by path.
    """

    function: str
    variants: list[PlannedVariant]
    triton_version: str
    dependencies: dict[str, str]


def plan(requests: Sequence[Request]) -> Plan:
    """Return every variant that the requests, all of one kernel, ask for.

    Raises:
        UnknownNameError: A request names a kernel, constexpr or argument that does not exist.
        CaptureError: The kernel cannot be loaded, or a value is missing.
    """
    source = describe.find_kernel(requests[0].kernel)
    with not_interpreted():
        from irlens.capturing import explain, triton_door

    with (
        ONE_AT_A_TIME,
        TemporaryDirectory(prefix="irlens-") as cache,
        triton_door.private_cache(Path(cache)),
        loaded(source) as (module, others),
    ):
        sources = [source.path, *others]
        kernel = triton_door.find(vars(module), source.function)
        found: dict[bytes, PlannedVariant] = {}
        for request in requests:
            try:
                planned = _variants(request, source.description, kernel)
            except Exception as error:  # whatever the file's own functions may raise
                raise explain.explain(error, source.function, sources, "") from error
            for variant in planned:
                found.setdefault(msgspec.msgpack.encode(variant.request), variant)
    return Plan(
        function=source.function,
        variants=list(found.values()),
        triton_version=triton_version(),
        dependencies={str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sources},
    )


def _variants(
    request: Request, description: Description | None, kernel: "Kernel"
) -> list[PlannedVariant]:
    """Return one request's variants."""
    from irlens.capturing import triton_door

    options = triton_door.option_defaults(request.target)
    call = resolve(request, description, kernel.parameters(), options)
    with triton_door.compile_only(request.target):
        args = triton_door.stand_ins(call.args)
        found = triton_door.variants(kernel, args, call.defaults, call.overrides)
    known = {name: value for name, value in options.items() if isinstance(value, int | None)}
    variants = []
    for settings in found:
        require(kernel.name, kernel.parameters(), call, settings)
        values = triton_door.plain({**known, **kernel.defaults(), **settings})
        # A configuration may leave out what another of the same tuner sets.
        chosen = {name: values.get(name) for name in kernel.tuned()} | request.settings
        numbers = {name: recorded(value) for name, value in call.args.items()}
        variants.append(
            PlannedVariant(
                msgspec.structs.replace(request, settings=chosen),
                {**values, **call.sizes, **numbers},
            )
        )
    return variants
