"""What a set of requests comes to, without compiling: every variant, with the values it has.

An autotuned kernel's configurations are in its file, which has to be executed to know them.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from irlens.compiler import describe, environments
from irlens.compiler.call import require, resolve
from irlens.compiler.describe import Description
from irlens.compiler.keeping import sha256
from irlens.compiler.loading import loaded
from irlens.compiler.make import ONE_AT_A_TIME, not_interpreted
from irlens.compiler.request import Request
from irlens.compiler.values import recorded
from irlens.model.config import ConstexprValue

if TYPE_CHECKING:  # importing it imports Triton
    from irlens.compiler.triton_compat import Kernel


class PlannedVariant(msgspec.Struct, frozen=True):
    """One variant of a request.

    Attributes:
        request: The same with nothing left to choose.
        triton: What tells its compiler from others, see ``request.triton_identity``.
        names: Every value an expression about it may use: constexprs, compile options, sizes
            and arguments that are numbers.
    """

    request: Request
    triton: str
    names: dict[str, ConstexprValue]


class Plan(msgspec.Struct, frozen=True):
    """What there is to compile.

    Attributes:
        function: The kernel function's name.
        variants: In the order of the requests; what is equal is there once.
        dependencies: sha256 of the kernel's file and of each local one that it loads, by path.
    """

    function: str
    variants: list[PlannedVariant]
    dependencies: dict[str, str]


def plan(requests: Sequence[Request]) -> Plan:
    """Return every variant that the requests, all of one kernel, ask for.

    Each Triton plans its own: the defaults of its options are not another's, and a kernel's file
    may look at the version. What two names of the same Triton ask for is there once.

    Raises:
        UnknownNameError: A request names a kernel, constexpr or argument that does not exist.
        CaptureError: The kernel cannot be loaded, or a value is missing.
    """
    function = describe.find_kernel(requests[0].kernel).function
    variants: dict[bytes, PlannedVariant] = {}
    dependencies: dict[str, str] = {}
    for triton in dict.fromkeys(request.triton for request in requests):
        asked = [request for request in requests if request.triton == triton]
        found = _plan_with(triton, asked)
        dependencies |= found.dependencies
        for variant in found.variants:
            same = variant.triton, msgspec.structs.replace(variant.request, triton=None)
            variants.setdefault(msgspec.msgpack.encode(same), variant)
    return Plan(function, list(variants.values()), dependencies)


def _plan_with(triton: str | None, requests: Sequence[Request]) -> Plan:
    """Return what one Triton makes of the requests, in their own words."""
    other = environments.find(triton)
    if other is None:
        return plan_here(requests, environments.identify(triton))
    kernel = requests[0].kernel
    source = describe.find_kernel(kernel)
    named = f"{source.path}:{source.function}"
    there = [msgspec.structs.replace(request, kernel=named) for request in requests]
    answer = other.carry_out("plan", there)
    found = msgspec.msgpack.decode(bytes.fromhex(answer), type=Plan)
    return msgspec.structs.replace(
        found,
        variants=[
            msgspec.structs.replace(
                each, request=msgspec.structs.replace(each.request, kernel=kernel, triton=triton)
            )
            for each in found.variants
        ],
    )


def plan_here(requests: Sequence[Request], triton: str) -> Plan:
    """Do what ``plan`` does with this process's Triton, whichever the requests name.

    Args:
        requests: What is asked for.
        triton: What tells this Triton from others.
    """
    source = describe.find_kernel(requests[0].kernel)
    with not_interpreted():
        from irlens.compiler import explain
        from irlens.compiler import triton_compat as triton_door

    with (
        ONE_AT_A_TIME,
        TemporaryDirectory(prefix="irlens-") as cache,
        triton_door.private_cache(Path(cache)),
        loaded(source) as (module, sources),
    ):
        kernel = triton_door.find(vars(module), source.function)
        variants: list[PlannedVariant] = []
        for request in requests:
            try:
                variants += _variants(request, triton, source.description, kernel)
            except Exception as error:  # whatever the file's own functions may raise
                raise explain.explain(error, source.function, sources, "") from error
    return Plan(
        function=source.function,
        variants=variants,
        dependencies={str(p): sha256(content) for p, content in sources.items()},
    )


def _variants(
    request: Request, triton: str, description: Description | None, kernel: "Kernel"
) -> list[PlannedVariant]:
    """Return one request's variants."""
    from irlens.compiler import triton_compat as triton_door

    options = triton_door.option_defaults(request.target)
    call = resolve(request, description, kernel.parameters(), options)
    with triton_door.compile_only(request.target):
        args = triton_door.with_descriptors(kernel, triton_door.stand_ins(call.args), call.args)
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
                triton,
                {**values, **call.sizes, **numbers},
            )
        )
    return variants
