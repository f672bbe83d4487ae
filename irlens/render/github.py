"""Workflow commands of GitHub Actions: lines on stdout that become annotations of code.

Source: GitHub Docs, "Workflow commands for GitHub Actions"; ``ActionCommand.cs`` of the runner.
"""

from typing import Any

from irlens.model.report import Severity
from irlens.model.text import printable_line
from irlens.render import Kind, Options
from irlens.render.view.annotations import (
    Annotation,
    annotations,
    differences,
    file_paths,
    in_lines,
    rule_of,
)

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
#: The runner decodes these.
_WRITTEN = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_DATA = str.maketrans(_WRITTEN)
_PROPERTY = str.maketrans({**_WRITTEN, ":": "%3A", ",": "%2C"})


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a line for each annotation, the most severe first.

    A step shows ten of each kind: of a check, each kernel that moved is one.
    """
    found = in_lines(subject) if kind == "check" else annotations(kind, subject)
    if kind == "comparisons":
        found += differences(subject)
    paths = file_paths(found, options)
    lines = [_command(each, paths, options) for each in found]
    return "".join(f"{line}\n" for line in lines or ["irlens: nothing to annotate"])


def _command(annotation: Annotation, paths: dict[str, str], options: Options) -> str:
    rule = rule_of(annotation, options)
    title = annotation.rule if rule is None else " ".join(dict.fromkeys((rule.code, rule.name)))
    if annotation.state is not None:
        title += {"new": ", new", "absent": ", gone", "updated": ", changed"}[annotation.state]
    properties: dict[str, str] = {}
    if annotation.file is not None:
        properties["file"] = paths[annotation.file]
        if annotation.line is not None:
            properties["line"] = str(annotation.line)
    properties["title"] = f"irlens {title}"
    named = ",".join(
        f"{name}={printable_line(value).translate(_PROPERTY)}" for name, value in properties.items()
    )
    # Only the line break before the hint is real; those of captures are escaped.
    message = "\n".join(printable_line(each) for each in (annotation.text, annotation.hint) if each)
    # A finding that is gone neither fails nor warns.
    command = "notice" if annotation.state == "absent" else _COMMANDS[annotation.level]
    return f"::{command} {named}::{message.translate(_DATA)}"
