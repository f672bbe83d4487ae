"""Workflow commands, from annotations."""

from collections.abc import Sequence

from irlens.model.report import Severity
from irlens.model.text import printable_line
from irlens.render import View
from irlens.render._annotations import Annotation
from irlens.render._places import paths
from irlens.render._rules import rule_of

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
#: What the runner turns back.
_WRITTEN = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_DATA = str.maketrans(_WRITTEN)
_PROPERTY = str.maketrans({**_WRITTEN, ":": "%3A", ",": "%2C"})


def commands(annotations: Sequence[Annotation], view: View) -> str:
    """Return a line for each annotation, the most severe first: a step shows ten of each kind."""
    found = paths(annotations, view)
    lines = [_command(each, found, view) for each in annotations]
    return "".join(f"{line}\n" for line in lines or ["irlens: nothing to annotate"])


def _command(annotation: Annotation, found: dict[str, str], view: View) -> str:
    rule = rule_of(annotation, view)
    title = annotation.rule if rule is None else " ".join(dict.fromkeys((rule.code, rule.name)))
    if annotation.state is not None:
        title += {"new": ", new", "absent": ", gone", "updated": ", changed"}[annotation.state]
    properties: dict[str, str] = {}
    if annotation.file is not None:
        properties["file"] = found[annotation.file]
        if annotation.line is not None:
            properties["line"] = str(annotation.line)
    properties["title"] = f"irlens {title}"
    named = ",".join(
        f"{name}={printable_line(value).translate(_PROPERTY)}" for name, value in properties.items()
    )
    # Only the line break before the hint is one; those of captures are spelled out.
    told = "\n".join(printable_line(each) for each in (annotation.text, annotation.hint) if each)
    # What went is no reason to fail or warn.
    command = "notice" if annotation.state == "absent" else _COMMANDS[annotation.level]
    return f"::{command} {named}::{told.translate(_DATA)}"
