"""A SARIF log of one run, from annotations.

Code hosts refuse a result without a place, so that each has one: the line of Python, or else the
kernel's file as a whole, or else the line of the stage that it was seen in.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote

from irlens.model.rule import Rule
from irlens.model.text import printable_line
from irlens.render import View
from irlens.render._annotations import Annotation
from irlens.render._places import paths
from irlens.render._rules import rule_of
from irlens.render.json import written
from irlens.version import VERSION

Json: TypeAlias = "dict[str, object]"

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: What the paths of sources are relative to; editors ask for it, code hosts know it.
_ROOT = "%SRCROOT%"
#: Named with its version: a fingerprint that is made differently is another.
_FINGERPRINT = "irlensFinding/v1"


def log(annotations: Sequence[Annotation], view: View) -> str:
    """Return the log as JSON."""
    codes = sorted({each.rule for each in annotations})
    rules = [_rule(code, annotations, view) for code in codes]
    found = paths(annotations, view)
    prints = _fingerprints(annotations)
    results = [
        _result(each, codes.index(each.rule), found, fingerprint)
        for each, fingerprint in zip(annotations, prints, strict=True)
    ]
    run: Json = {
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the sources."}}},
        "results": results,
        "tool": {"driver": {"name": "irlens", "rules": rules, "version": VERSION}},
    }
    return written({"$schema": _SCHEMA, "runs": [run], "version": "2.1.0"})


def _rule(code: str, annotations: Sequence[Annotation], view: View) -> Json:
    first = next(each for each in annotations if each.rule == code)
    rule = rule_of(first, view)
    if rule is None:  # what to do is all that a record knows of its kind
        return {"id": code, **({"help": {"text": _message(first.hint)}} if first.hint else {})}
    return _described(rule)


def _described(rule: Rule) -> Json:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.documentation, "markdown": rule.documentation},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(annotation: Annotation, index: int, found: Mapping[str, str], fingerprint: str) -> Json:
    text = _message(annotation.text)
    hint = f"\n{_message(annotation.hint)}" if annotation.hint else ""
    location: Json = {"physicalLocation": _place(annotation, found)}
    if annotation.kernel:
        name = printable_line(annotation.kernel)
        location["logicalLocations"] = [{"kind": "function", "name": name}]
    properties: Json = {}
    if annotation.where:
        properties["configurations"] = [printable_line(each) for each in annotation.where]
    if annotation.stage is not None:
        properties["stage"] = annotation.stage
    return {
        "ruleId": annotation.rule,
        "ruleIndex": index,
        "level": annotation.level,
        "message": {"text": text + hint},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        **({"baselineState": annotation.state} if annotation.state is not None else {}),
        **({"properties": properties} if properties else {}),
    }


def _place(annotation: Annotation, found: Mapping[str, str]) -> Json:
    line = annotation.line
    if annotation.file is not None:
        artifact: Json = {"uri": quote(found[annotation.file]), "uriBaseId": _ROOT}
    else:
        stage = f".{annotation.stage}" if annotation.stage is not None else ""
        artifact, line = {"uri": quote(f"{annotation.kernel}{stage}")}, annotation.stage_line
    return {
        "artifactLocation": artifact,
        **({"region": {"startLine": line}} if line is not None else {}),
    }


def _message(text: str) -> str:
    """Return text that is one line, and no link in SARIF's or Markdown's eyes."""
    return printable_line(text).replace("](", "] (")


def _fingerprints(annotations: Sequence[Annotation]) -> list[str]:
    """Return what makes each result the same one after lines have moved.

    Lines are left out, and numbers of the message: they move with every change of the kernel.
    What is alike in all the rest is told apart by its order. ``primaryLocationLineHash`` is not
    ours to write: GitHub's upload action hashes the file that it has, fills that in where it is
    missing, and warns where it finds another (github/codeql-action, src/fingerprints.ts).
    """
    often: Counter[str] = Counter()
    found = []
    for each in annotations:
        message = re.sub(r"\d+", "#", each.message)
        parts = (each.rule, each.kernel, each.file or "", each.code, message, *each.where)
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
        found.append(f"{digest}:{often[digest]}")
        often[digest] += 1
    return found
