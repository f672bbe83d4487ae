"""List the variants that requests expand to, without compiling them.

The configurations of an autotuned kernel are only known after executing its file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts.compile_options import named_files
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler.calls.argument_values import manifest_value
from irlens.compiler.calls.binding import bind
from irlens.compiler.calls.contents import contents_in, with_shapes
from irlens.compiler.capture_files import sha256
from irlens.compiler.request import Request
from irlens.compiler.sources.description import find_kernel
from irlens.compiler.toolchains import environments
from irlens.model.capture import load_notes
from irlens.model.config import ConstexprValue, identity_of
from irlens.model.variants import Specialized

if TYPE_CHECKING:  # a plan is read without it
    from irlens.compiler.kernel_session import KernelSession


class PlannedVariant(msgspec.Struct, frozen=True):
    """One variant of a request.

    Attributes:
        triton: Identity of its compiler, see ``versions.triton_identity``.
        names: Values that expressions about the variant may use: constexprs, compile options,
            sizes and arguments that are numbers.
        options: The compile options that are numbers, flags or texts, defaults included.
        tuned: The names that the kernel's autotuners set.
    """

    request: Request
    triton: str
    names: dict[str, ConstexprValue]
    specialization: tuple[Specialized, ...] = ()
    options: dict[str, ConstexprValue] = {}
    tuned: tuple[str, ...] = ()

    @property
    def args(self) -> dict[str, ConstexprValue]:
        """Its run-time arguments that are numbers."""
        names = (each.name for each in self.specialization if not each.constexpr)
        return {name: self.names[name] for name in names if name in self.names}


class Plan(msgspec.Struct, frozen=True):
    """The variants to compile.

    Attributes:
        variants: Distinct variants in the order of the requests.
        dependencies: SHA-256 of the kernel's file, of each local import and of each file that an
            option or an argument names, by path.
        notes: What a user should know about how the file was loaded.
        decided: Settings that functions of the file choose, which may look at the arguments.
    """

    function: str
    variants: list[PlannedVariant]
    dependencies: dict[str, str]
    notes: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()


def plan(requests: Sequence[Request]) -> Plan:
    """Return every variant of some requests for one kernel.

    Each Triton plans its own: compile options have other defaults in each, and a kernel's file
    may look at the version. Requests that name the same Triton in two ways give one variant.

    Raises:
        UnknownNameError: A request names a kernel, constexpr or argument that does not exist.
        CaptureError: The kernel cannot be loaded, or a value is missing.
    """
    function = find_kernel(requests[0].kernel).function
    variants: dict[bytes, PlannedVariant] = {}
    dependencies: dict[str, str] = {}
    notes: dict[str, None] = {}
    decided: set[str] = set()
    for triton in dict.fromkeys(request.triton for request in requests):
        planned = _plan_with(triton, [each for each in requests if each.triton == triton])
        dependencies |= planned.dependencies
        notes |= dict.fromkeys(planned.notes)
        decided |= {*planned.decided}
        for variant in planned.variants:
            same = variant.triton, msgspec.structs.replace(variant.request, triton=None)
            variants.setdefault(identity_of(same), variant)
    return Plan(
        function, list(variants.values()), dependencies, tuple(notes), tuple(sorted(decided))
    )


def _plan_with(triton: str | None, requests: Sequence[Request]) -> Plan:
    """Return the plan of one Triton, with the kernel and the Triton named as in the requests."""
    interpreter = environments.find_interpreter(triton)
    if interpreter is None:
        return plan_here(requests, environments.identify(triton))
    kernel = requests[0].kernel
    source = find_kernel(kernel)
    spec = f"{source.path}:{source.function}"
    # The other interpreter need not have NumPy, which reads files of contents.
    absolute = [msgspec.structs.replace(with_shapes(request), kernel=spec) for request in requests]
    written = {str(shaped.args): each.args for shaped, each in zip(absolute, requests, strict=True)}
    result = interpreter.execute("plan", absolute)
    planned = msgspec.msgpack.decode(bytes.fromhex(result), type=Plan)
    return msgspec.structs.replace(
        planned,
        variants=[
            msgspec.structs.replace(
                each,
                request=msgspec.structs.replace(
                    each.request,
                    kernel=kernel,
                    triton=triton,
                    args=written.get(str(each.request.args), each.request.args),
                ),
            )
            for each in planned.variants
        ],
    )


def plan_here(requests: Sequence[Request], triton: str) -> Plan:
    """Return the plan of this process's Triton, whichever Triton the requests name."""
    from irlens.compiler.kernel_session import open_kernel

    source = find_kernel(requests[0].kernel)
    planned: dict[int, list[PlannedVariant]] = {}
    notes: tuple[str, ...] = ()
    # The file is loaded once for each GPU: its tuning may depend on the one that is active.
    for arch, target in {request.target.arch: request.target for request in requests}.items():
        with (
            TemporaryFolder() as workspace,
            open_kernel(source, Path(workspace), target, hold_output=False) as session,
        ):
            for number, request in enumerate(requests):
                if request.target.arch == arch:
                    planned[number] = _plan(request, triton, session)
        notes = load_notes(source.path.name, session.file.absent, session.file.stopped)
    planned_variants = [each for _, variants in sorted(planned.items()) for each in variants]
    files = (named_files(each.request.settings.values()) for each in planned_variants)
    contents = {
        str(stage.path): sha256(stage.read())
        for request in requests
        for stage in contents_in(request).values()
        if stage.path is not None
    }
    return Plan(
        function=source.function,
        variants=planned_variants,
        dependencies={
            **{str(path): sha256(content) for path, content in session.file.sources.items()},
            **{path: digest for each in files for path, digest in each.items()},
            **contents,
        },
        notes=notes,
        decided=tuple(sorted(session.kernel.decided())),
    )


def _plan(request: Request, triton: str, session: "KernelSession") -> list[PlannedVariant]:
    """Return the variants of one request."""
    from irlens.compiler.triton_compat import jit, specialization, tensors

    kernel = session.kernel
    call, expanded = session.expand(request, tensors.placeholders)
    known = jit.option_defaults(jit.triton_target(request.target))
    scalars = {name: value for name, value in known.items() if isinstance(value, int | None)}
    numbers = {name: manifest_value(value) for name, value in call.args.items()}
    with specialization.relaxed(kernel, request.relaxed):
        specialize = specialization.binder(kernel)
        specialized = [
            specialize(bind(call, jit.manifest_values(settings)), settings) for settings in expanded
        ]
    variants = []
    for settings, found in zip(expanded, specialized, strict=True):
        values = jit.manifest_values({**scalars, **kernel.defaults(), **settings})
        # A configuration may omit what another one of the same tuner sets.
        chosen = {name: values.get(name) for name in kernel.tuned()} | request.settings
        variants.append(
            PlannedVariant(
                msgspec.structs.replace(request, settings=chosen),
                triton,
                {**values, **call.sizes, **numbers},
                found,
                {name: value for name, value in values.items() if name in known},
                tuple(kernel.tuned()),
            )
        )
    return variants
