"""Answers as text, clipped to what an agent can read, with control characters escaped."""

from collections.abc import Iterator, Sequence

import re2

from irlens.model.capture import BINARY_STAGES, Capture
from irlens.model.errors import IrlensError
from irlens.model.text import count, plural, printable
from irlens.render.view.memory_traffic import traffic_cells
from irlens.session.reports import report_of
from irlens.session.stages import annotated, check_text, read_stage

#: Lines of a stage in one answer.
MAX_LINES = 1000
#: Reports in one answer.
MAX_REPORTS = 20
#: Characters of one answer.
_MAX_CHARACTERS = 100_000
_MAX_LINE = 2000
_MAX_MATCHES = 200


def clipped(text: str) -> str:
    """Return text that is safe to show, cut at the limit with a note."""
    text = printable(text)
    if len(text) <= _MAX_CHARACTERS:
        return text
    rest = count(len(text) - _MAX_CHARACTERS)
    return f"{text[:_MAX_CHARACTERS]}\n[clipped: {rest} more characters]\n"


def captures(found: Sequence[Capture]) -> str:
    """Return a list of captures with their directories, configs and stages."""
    return clipped("\n".join(line for capture in found for line in _capture(capture)) + "\n")


def stage_lines(capture: Capture, stage: str, first: int, number: int, *, annotate: bool) -> str:
    """Return lines of a stage, numbered, after one that says which they are.

    Args:
        capture: The capture.
        stage: A text stage.
        first: The first line, from 1.
        number: How many lines.
        annotate: Whether to add the gutter of ``irlens inspect --annotate``.

    Raises:
        IrlensError: The capture lacks the stage, it is not text, or it is shorter.
    """
    if annotate:
        report = report_of(capture, sass=stage == "sass")
        traffic = traffic_cells(report, stage)
        rows = annotated(capture, stage, report, interleave=False, traffic=traffic)
        head, *lines = [f"{gutter}{line}".rstrip() for gutter, line in rows]
    else:
        lines = [f"{n:>6}  {line}" for n, line in enumerate(_text(capture, stage), 1)]
        head = ""
    if first > len(lines):
        raise IrlensError(
            f"{capture.kernel}: {stage} has {plural(len(lines), 'line')}, so no line {first}"
        )
    last = min(first + number - 1, len(lines))
    title = f"{capture.kernel} {stage}: lines {first} to {last} of {len(lines)}"
    shown = (line[:_MAX_LINE] for line in lines[first - 1 : last])
    return clipped("\n".join(filter(None, (title, head, *shown))) + "\n")


def matching_lines(capture: Capture, stage: str, pattern: str) -> str:
    """Return the lines of a stage that match a pattern of RE2's syntax, numbered.

    Raises:
        IrlensError: The capture lacks the stage, it is not text, or the pattern is invalid.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode() if isinstance(reason, bytes) else str(reason)
        raise IrlensError(f"invalid pattern '{pattern}': {text}") from error
    lines = _text(capture, stage)
    matches = [n for n, line in enumerate(lines, 1) if expression.search(line)]
    title = f"{capture.kernel} {stage}: {plural(len(matches), 'matching line')} of {len(lines)}"
    shown = [f"{n:>6}  {lines[n - 1][:_MAX_LINE]}" for n in matches[:_MAX_MATCHES]]
    if len(matches) > _MAX_MATCHES:
        shown.append(f"[the first {_MAX_MATCHES}]")
    return clipped("\n".join((title, *shown)) + "\n")


def _capture(capture: Capture) -> Iterator[str]:
    config = capture.config
    target = capture.target.name if capture.target is not None else "unknown target"
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages, **config.constexprs}
    values = " ".join(f"{name}={value}" for name, value in options.items() if value is not None)
    yield f"{capture.kernel} {target} {values}"
    yield f"  directory: {capture.directory}"
    for name, artifact in capture.stages.items():
        content = artifact.read()
        kind = "binary" if name in BINARY_STAGES else plural(content.count(b"\n"), "line")
        yield f"  {name}: {count(len(content))} B, {kind}"


def _text(capture: Capture, stage: str) -> list[str]:
    check_text(stage)
    return read_stage(capture, stage).decode("utf-8", "replace").splitlines()
