"""The compiler's passes of what the user named: a capture that keeps them, or a new compilation."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from irlens.artifacts import pass_dumps
from irlens.diff.passes import States, change_of, crossing, describe_passes
from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.passes import FollowedLine, PassChange, Passes, PassesDiff
from irlens.model.source import SourceLocation
from irlens.model.text import plural
from irlens.session import Configurations, is_compiled
from irlens.session.session import Session

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

#: Whose passes the compiler prints.
Printed: TypeAlias = Literal["mlir", "llvm"]
#: KERNEL, and the options that select one compilation of it.
KernelSide: TypeAlias = tuple[str, Configurations]


class Asked(msgspec.Struct, frozen=True):
    """What to look for in the passes.

    Attributes:
        passes: Numbers or names of passes to show the changes of.
        first: Operations to name the pass that brings them.
        last: Operations to name the pass that removes the last one.
        line: A line of Python to follow, "51" or "standard.py:170".
        conversions: Whether to name the pass that inserts each layout conversion.
    """

    passes: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    line: str | None = None
    changes: bool = False
    context: int = 3
    conversions: bool = False
    printed: Printed = "mlir"


def passes_of(
    kernel: str, configurations: Configurations, session: Session, asked: Asked
) -> Passes:
    """Return the passes of one compilation of KERNEL, and what is asked of them.

    Raises:
        IrlensError: It does not compile, its passes are unknown, or a name is.
    """
    states = states_of(kernel, configurations, session, asked.printed)
    shown = [number for name in asked.passes for number in states.numbers(name)]
    crossings = [crossing(states, name, "first") for name in asked.first]
    crossings += [crossing(states, name, "last") for name in asked.last]
    followed = None
    if asked.line is not None:
        from irlens.analyze.capture_code import CaptureCode
        from irlens.session.stages import find_location

        followed = follow_line(states, find_location(CaptureCode(states.capture), asked.line))
    inserted = None
    if asked.conversions:
        from irlens.diff.passes.insertions import insertions

        inserted = insertions(states)
    changed = [number for number in shown if states.before(number) != states.after(number)]
    return msgspec.structs.replace(
        describe_passes(states, changes=asked.changes),
        shown=[
            PassChange(number=number, code=change_of(states, number, context=asked.context))
            for number in changed or shown[:1]
        ],
        crossings=crossings,
        followed=followed,
        insertions=inserted,
    )


def follow_line(states: States, location: SourceLocation) -> FollowedLine:
    """Return a line of Python through the passes.

    Raises:
        IrlensError: No pass has code from it.
    """
    from irlens.diff.passes.lines import follow, lines_with_code

    followed = follow(states, location)
    if not any(step.operations for step in followed.steps):
        lines = ", ".join(map(str, lines_with_code(states, location.file)))
        raise IrlensError(
            f"{states.capture.kernel}: no pass has code from {location}",
            hint=f"lines with code: {lines}" if lines else "no code is from this file",
        )
    return followed


def compare_passes(
    before: KernelSide,
    after: KernelSide,
    session: Session,
    context: int,
    printed: Printed = "mlir",
    *,
    names: tuple[str, str] | None = None,
) -> PassesDiff:
    """Return two compilations held against each other pass by pass.

    Args:
        names: Labels of the two; by default, the settings that tell them apart.

    Raises:
        IrlensError: See ``passes_of``.
    """
    from irlens.diff.passes.across import first_difference
    from irlens.session.configuration_choice import paired_requests

    one, two = (_kept(*side, session, printed) for side in (before, after))
    if one is None and two is None:
        return compare_requests(
            paired_requests(before, after, session), session, context, printed, names=names
        )
    one = one or states_of(*before, session, printed)
    two = two or states_of(*after, session, printed)
    return first_difference(one, two, context=context, names=names)


def compare_requests(
    requests: "tuple[Request, Request]",
    session: Session,
    context: int,
    printed: Printed = "mlir",
    *,
    names: tuple[str, str] | None = None,
) -> PassesDiff:
    """Return what two requests compile to, see ``compare_passes``."""
    from irlens.diff.passes.across import first_difference

    one, two = (_newly_compiled(request, session, printed) for request in requests)
    return first_difference(one, two, context=context, names=names)


def two_selections(kernel: str, configurations: Configurations) -> tuple[KernelSide, KernelSide]:
    """Return KERNEL with each of the two combinations of the options' values.

    Raises:
        IrlensError: There is another number of them than two.
    """
    selections = [
        msgspec.structs.replace(
            configurations,
            tritons=() if triton is None else (triton,),
            targets=() if target is None else (target,),
            settings=tuple((name, (value,)) for name, value in settings.items()),
            args=tuple((name, (value,)) for name, value in args.items()),
        )
        for triton in configurations.tritons or (None,)
        for target, settings, args in configurations.as_written()
    ]
    if len(selections) != 2:
        selected = plural(len(selections), "configuration")
        raise IrlensError(
            f"the options select {selected} of {kernel}: passes need two",
            hint="name a second kernel, or give one option two values: --num-stages 2,4",
        )
    return (kernel, selections[0]), (kernel, selections[1])


def states_of(
    kernel: str, configurations: Configurations, session: Session, printed: Printed = "mlir"
) -> States:
    """Return the IR between the passes of one compilation of KERNEL.

    Raises:
        IrlensError: It does not compile, or its passes are unknown.
    """
    if (kept := _kept(kernel, configurations, session, printed)) is not None:
        return kept
    from irlens.session.configuration_choice import single_request

    return _newly_compiled(single_request(kernel, configurations, session), session, printed)


def _kept(
    kernel: str, configurations: Configurations, session: Session, printed: Printed
) -> States | None:
    """Return the IR between the passes that something compiled keeps; ``None`` if it keeps none."""
    if not is_compiled(kernel) or not configurations.is_empty:
        return None
    for capture in session.captures(kernel, configurations):
        if (dumps := _of_compiled(kernel, capture)) is not None and (
            dumps.last or printed == "mlir"
        ):
            return _checked(capture, dumps)
    return None


def _newly_compiled(request: "Request", session: Session, printed: Printed) -> States:
    """Return the IR between the passes of one configuration of a kernel."""
    of_llvm = printed == "llvm"
    captures = session.compile(msgspec.structs.replace(request, passes=True, llvm_passes=of_llvm))
    if len(captures) != 1:
        raise IrlensError(
            f"{request.kernel} has {len(captures)} configurations", hint="select one: --set"
        )
    capture, dumps = captures[0], _of_stored(captures[0])
    if of_llvm and not dumps.last:
        raise IrlensError(
            f"{capture.kernel}: Triton {capture.triton_version} printed none of LLVM's passes",
            hint="irlens reads what LLVM_IR_ENABLE_DUMP=1 prints",
        )
    return _checked(capture, dumps)


def _of_compiled(kernel: str, capture: Capture) -> pass_dumps.Dumps | None:
    """Return the passes that a capture keeps, or that a file of the compiler's output has."""
    path = Path(kernel).expanduser()
    if files.kind(path) == "file":
        text = files.text(files.read(path), name=path)
        return pass_dumps.read(text) if pass_dumps.has_dumps(text) else None
    return pass_dumps.of_capture(capture)


def states_of_capture(capture: Capture) -> States | None:
    """Return the IR between the passes that a capture keeps; ``None`` if it keeps none.

    Raises:
        IrlensError: What it keeps is broken, or has no IR.
    """
    dumps = pass_dumps.of_capture(capture)
    return None if dumps is None else _checked(capture, dumps)


def _of_stored(capture: Capture) -> pass_dumps.Dumps:
    """Return the passes of a capture that was compiled for them; its folder is the store's."""
    hint = f"delete {capture.directory.parent}" if capture.directory is not None else None
    try:
        dumps = pass_dumps.of_capture(capture)
    except ArtifactError as error:
        raise ArtifactError(error.message, hint=error.hint or hint) from error
    if dumps is None:
        raise ArtifactError(f"{capture.kernel}: {pass_dumps.NAME} of the store is gone", hint=hint)
    return dumps


def _checked(capture: Capture, dumps: pass_dumps.Dumps | None) -> States:
    if dumps is None or not dumps.passes:
        raise IrlensError(
            f"{capture.kernel}: {nothing_printed(capture)}",
            hint="irlens reads what MLIR_ENABLE_DUMP=1 prints, of Triton 3.4 and newer: choose one"
            " with --triton",
        )
    return States(capture, dumps)


def nothing_printed(capture: Capture) -> str:
    """Return why the passes of a compilation are unknown that was to print them."""
    version = f"Triton {capture.triton_version}" if capture.triton_version else "the compiler"
    return f"{version} printed no IR between its passes"
