"""``--stage NAME``: one artifact, as it is."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from irlens.cli import output
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.text import printable


def _metadata(capture: Capture) -> bytes:
    """Triton's own metadata file."""
    path = capture.metadata_path
    if path is None:
        raise IrlensError(f"{capture.kernel}: this capture holds no metadata")
    return path.read_bytes()


def _sass(capture: Capture) -> bytes:
    """The machine code of the cubin, disassembled by the vendor's own tool."""
    from irlens.artifacts.tools import disassemble

    if "cubin" not in capture.stages:
        raise IrlensError(f"{capture.kernel}: no cubin in this capture, so there is no SASS")
    return disassemble(capture.stages["cubin"].read()).encode()


#: Stages that are not a file of the capture but made from one.
_MADE: dict[str, Callable[[Capture], bytes]] = {"metadata": _metadata, "sass": _sass}

#: What to do about binary stages.
_READABLE = {"cubin": "read it with --stage sass"}

NAMES = (*STAGE_ORDER, *_MADE)


def check(name: str) -> None:
    """Raise ``UnknownNameError`` unless there is a stage of this name."""
    if name not in NAMES:
        raise UnknownNameError("stage", name, NAMES)


def show(
    captures: Sequence[Capture],
    name: str,
    destination: Path | None,
    *,
    paged: bool,
    interleave: bool = False,
    annotate: bool = False,
) -> None:
    """Write one stage of each capture, if asked for with the Python it came from in between.

    With ``annotate`` what is known of each line stands beside it.

    Bytes go out as they are, unless they go to a terminal: there they are coloured, and anything
    that could steer the terminal is spelled out.

    Raises:
        IrlensError: A capture lacks it, or it is binary and would go to a terminal.
    """
    if annotate:
        _show_annotated(captures, name, destination, paged=paged, interleave=interleave)
        return
    if interleave:
        from irlens.cli.lines import interleaved

        contents = [interleaved(capture, name).encode() for capture in captures]
    else:
        contents = [_content(capture, name) for capture in captures]
    on_terminal = destination is None and sys.stdout.isatty()
    if not on_terminal:
        output.write(b"".join(contents), destination)
        return
    if name in BINARY_STAGES:
        raise IrlensError(
            f"{name} is binary and stdout is a terminal",
            hint=", or ".join(
                filter(None, (f"write it with --output FILE.{name}", _READABLE.get(name)))
            ),
        )
    text = b"".join(contents).decode("utf-8", "replace")
    output.write(_for_a_terminal(text, name), None, paged=paged)


def _for_a_terminal(text: str, name: str) -> str:
    """Return a stage's text safe to show, in colours if these are wanted."""
    shown = printable(text)
    if not output.use_color():
        return shown
    from irlens.isa.highlight import ansi

    return ansi(shown, name)


def _show_annotated(
    captures: Sequence[Capture],
    name: str,
    destination: Path | None,
    *,
    paged: bool,
    interleave: bool,
) -> None:
    from irlens.cli.annotated import annotated
    from irlens.session.reading import report_of

    rows: list[tuple[str, str]] = []
    for capture in captures:
        if name in BINARY_STAGES:
            raise IrlensError(f"{name} is binary, and has no lines", hint=_READABLE.get(name))
        if name not in _MADE:
            _content(capture, name)  # says what there is instead
        report = report_of(capture, sass=name == "sass")
        rows += annotated(capture, name, report, interleave=interleave)
    code = "\n".join(line for _, line in rows)
    if destination is None and sys.stdout.isatty():
        code = _for_a_terminal(code, name)
    gutters = (beside for beside, _ in rows)
    lines = (f"{one}{two}".rstrip() for one, two in zip(gutters, code.split("\n"), strict=True))
    output.write("\n".join(lines) + "\n", destination, paged=paged)


def _content(capture: Capture, name: str) -> bytes:
    if name in _MADE:
        return _MADE[name](capture)
    stage = capture.stages.get(name)
    if stage is None:
        there = ", ".join(capture.stages) or "nothing"
        raise IrlensError(f"{capture.kernel}: no {name} in this capture", hint=f"there is: {there}")
    return stage.read()
