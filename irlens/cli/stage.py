"""``--stage NAME``: one artifact, plain, interleaved with Python, or annotated in a gutter."""

import sys
from collections.abc import Sequence
from enum import Flag, auto

from irlens.analyze.capture_code import CaptureCode
from irlens.cli import output
from irlens.cli.writing import Writing
from irlens.model.capture import BINARY_STAGES, Capture, Disassembly
from irlens.model.errors import IrlensError
from irlens.model.text import printable
from irlens.session.background import disassembling
from irlens.session.stages import binary_hint, interleaved_listing, listed, read_stage


class Beside(Flag):
    """What stands beside the lines of a stage."""

    NOTHING = 0
    PYTHON = auto()
    ANNOTATIONS = auto()


def show(captures: Sequence[Capture], name: str, writing: Writing, beside: Beside) -> None:
    """Write one stage of each capture.

    A file gets the bytes unchanged. On stdout, which may end in a log, control characters are
    escaped, and a terminal gets colours.

    Raises:
        IrlensError: A capture lacks the stage, or it is binary and would go to a terminal.
    """
    with disassembling([each.stages for each in captures] if name == "sass" else []):
        if Beside.ANNOTATIONS in beside:
            _show_annotated(captures, name, writing, beside)
            return
        if Beside.PYTHON in beside:
            from irlens.session.stages import interleaved

            contents = [interleaved(CaptureCode(each), name).encode() for each in captures]
        else:
            contents = [read_stage(CaptureCode(each), name) for each in captures]
    for each in captures:
        each.check_unchanged()
    destination = writing.destination
    is_binary = name in BINARY_STAGES
    if destination is not None or (is_binary and not sys.stdout.isatty()):
        output.write(b"".join(contents), destination)
        return
    if is_binary:
        hints = (f"write it with --output FILE.{name}", binary_hint(name))
        raise IrlensError(
            f"{name} is binary and stdout is a terminal", hint=", or ".join(filter(None, hints))
        )
    text = b"".join(contents).decode("utf-8", "replace")
    output.write(_for_stdout(text, name), None, paged=writing.pager)


def _show_annotated(
    captures: Sequence[Capture], name: str, writing: Writing, beside: Beside
) -> None:
    from irlens.render.text_listing import annotated
    from irlens.render.view.memory_traffic import traffic_cells
    from irlens.session.reports import report_of

    listing_of = interleaved_listing if Beside.PYTHON in beside else listed
    rows: list[tuple[str, str]] = []
    for capture in captures:
        code = CaptureCode(capture)
        report = report_of(code, Disassembly(name == "sass"))
        listing, numbered = listing_of(code, name, report)
        rows += annotated(listing, numbered, report.pipelines, traffic_cells(report, name))
        capture.check_unchanged()
    text = "\n".join(line for _, line in rows)
    if writing.destination is None:
        text = _for_stdout(text, name)
    pairs = zip(rows, text.split("\n"), strict=True)
    lines = (f"{gutter}{line}".rstrip() for (gutter, _), line in pairs)
    output.write("\n".join(lines) + "\n", writing.destination, paged=writing.pager)


def _for_stdout(text: str, name: str) -> str:
    """Return a stage's text with control characters escaped, on a terminal coloured if enabled."""
    escaped = "\r\n".join(printable(part) for part in text.split("\r\n"))
    if not (sys.stdout.isatty() and output.use_color()):
        return escaped
    from irlens.isa.highlight import ansi

    return ansi(escaped, name)
