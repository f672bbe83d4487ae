"""What the tensors of a request hold: as its arguments, the description or a recording say."""

from collections.abc import Iterable, Mapping

import msgspec

from irlens.compiler.calls.argument_values import (
    contents_of,
    describe_contents,
    has_contents,
    tensor_in_file,
    with_numbers,
)
from irlens.compiler.calls.binding import named_values
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description, find_kernel
from irlens.model.capture import Capture, Stage


def with_shapes(request: Request) -> Request:
    """Return a request that says the shape of a tensor whose contents are given.

    The compiler sees the shape alone, and another directory or machine need not have the file.

    Raises:
        ArtifactError: A file cannot be read.
        CaptureError: No kernel takes such a tensor.
    """
    given = _given(request)
    shapes = {name: str(tensor_in_file(stage)) for name, stage in _stages(given).items()}
    return msgspec.structs.replace(request, args=request.args | shapes) if shapes else request


def contents_in(request: Request) -> dict[str, Stage]:
    """Return the contents of a request's tensors by argument: files, and those of a recording.

    Those of a recording are left out where the request has a tensor of another shape.
    """
    recorded = {n: Stage(f"contents of {n}", content=held) for n, held in request.contents.items()}
    alike = {
        name: stage
        for name, stage in recorded.items()
        if str(request.args.get(name)) == str(tensor_in_file(stage))
    }
    return alike | _stages(_given(request))


def with_contents(captures: Iterable[Capture], request: Request) -> list[Capture]:
    """Return the captures of a request with what its tensors hold, and with what is said of it."""
    contents = contents_in(request)
    told = {n: each for n, each in request.told.items() if n in contents}
    told |= describe_contents(_given(request))
    return [
        msgspec.structs.replace(
            each, contents=contents, config=msgspec.structs.replace(each.config, contents=told)
        )
        for each in captures
    ]


def _given(request: Request) -> dict[str, str]:
    """Return how arguments describe their contents, by name, with numbers in place of sizes.

    An argument of the request takes precedence over that of the kernel's description.
    """
    described = find_kernel(request.kernel).description or Description(args={})
    texts = {n: (v, f"--arg {n}") for n, v in request.args.items()}
    texts = {n: (v, n) for n, v in described.args.items()} | texts
    given = {n: (v, where) for n, (v, where) in texts.items() if has_contents(v)}
    if not given:
        return {}
    # Neither tensors nor ``none`` are sizes.
    others = {n for n, v in request.args.items() if "[" in str(v) or v in (None, "none")}
    sizes, defaults = named_values(request, described, {*described.args, *given, *others})
    names = {**sizes, **defaults, **request.settings}
    return {name: with_numbers(text, names, where) for name, (text, where) in given.items()}


def _stages(given: Mapping[str, str]) -> dict[str, Stage]:
    return {name: contents_of(text) for name, text in given.items()}
