"""``--stage NAME``: one artifact, plain, interleaved with Python, or annotated in a gutter."""

import sys
from collections.abc import Sequence
from pathlib import Path

from irlens.analyze.capture_code import CaptureCode
from irlens.cli import output
from irlens.model.capture import BINARY_STAGES, Capture, Disassembly
from irlens.model.errors import IrlensError
from irlens.model.text import printable
from irlens.session.background import disassembling
from irlens.session.stages import binary_hint, listed, read_stage


def show(
    captures: Sequence[Capture],
    name: str,
    destination: Path | None,
    *,
    paged: bool,
    interleave: bool = False,
    annotate: bool = False,
) -> None:
    """Write one stage of each capture.

    A file gets the bytes unchanged. On stdout, which may end in a log, control characters are
    escaped, and a terminal gets colours.

    Args:
        destination: A file, ``None`` for stdout.

    Raises:
        IrlensError: A capture lacks the stage, or it is binary and would go to a terminal.
    """
    with disassembling([each.stages for each in captures] if name == "sass" else []):
        if annotate:
            _show_annotated(captures, name, destination, paged=paged, interleave=interleave)
            return
        if interleave:
            from irlens.session.stages import interleaved

            contents = [interleaved(CaptureCode(each), name).encode() for each in captures]
        else:
            contents = [read_stage(CaptureCode(each), name) for each in captures]
    for each in captures:
        each.check_unchanged()
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
    output.write(_for_stdout(text, name), None, paged=paged)


def _show_annotated(
    captures: Sequence[Capture],
    name: str,
    destination: Path | None,
    *,
    paged: bool,
    interleave: bool,
) -> None:
    from irlens.render.text_listing import annotated
    from irlens.render.view.memory_traffic import traffic_cells
    from irlens.session.reports import report_of

    rows: list[tuple[str, str]] = []
    for capture in captures:
        code = CaptureCode(capture)
        report = report_of(code, Disassembly(name == "sass"))
        listing, numbered = listed(code, name, report, interleave=interleave)
        rows += annotated(listing, numbered, report.pipelines, traffic_cells(report, name))
        capture.check_unchanged()
    text = "\n".join(line for _, line in rows)
    if destination is None:
        text = _for_stdout(text, name)
    pairs = zip(rows, text.split("\n"), strict=True)
    lines = (f"{gutter}{line}".rstrip() for (gutter, _), line in pairs)
    output.write("\n".join(lines) + "\n", destination, paged=paged)


def _for_stdout(text: str, name: str) -> str:
    """Return a stage's text with control characters escaped, on a terminal coloured if enabled."""
    escaped = "\r\n".join(printable(part) for part in text.split("\r\n"))
    if not (sys.stdout.isatty() and output.use_color()):
        return escaped
    from irlens.isa.highlight import ansi

    return ansi(escaped, name)
