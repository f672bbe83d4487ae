"""SARIF 2.1.0: what code hosts and editors read static analysis from.

Code hosts reject a result without a place, so each has one: the line of Python, or else the
kernel's file as a whole, or else the line of the stage that it was seen in.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote

from irlens.model.report import Rule
from irlens.model.text import printable_line
from irlens.render import Kind, Options
from irlens.render.json import to_json
from irlens.render.view.annotations import Annotation, annotations, file_paths, rule_of
from irlens.version import VERSION

Json: TypeAlias = "dict[str, object]"

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Base of the sources' paths; editors ask for it, code hosts know it.
_ROOT = "%SRCROOT%"
#: Versioned: a fingerprint that is computed differently gets another name.
_FINGERPRINT = "irlensFinding/v1"


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a log of one run as JSON: findings, verdicts and failures."""
    found = annotations(kind, subject)
    codes = sorted({each.rule for each in found})
    rules = [_rule(code, found, options) for code in codes]
    paths = file_paths(found, options)
    results = [
        _result(each, codes.index(each.rule), paths, fingerprint)
        for each, fingerprint in zip(found, _fingerprints(found), strict=True)
    ]
    run: Json = {
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the sources."}}},
        "results": results,
        "tool": {"driver": {"name": "irlens", "rules": rules, "version": VERSION}},
    }
    return to_json({"$schema": _SCHEMA, "runs": [run], "version": "2.1.0"})


def _rule(code: str, found: Sequence[Annotation], options: Options) -> Json:
    first = next(each for each in found if each.rule == code)
    rule = rule_of(first, options)
    if rule is None:  # the hint is all that the record has
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


def _result(annotation: Annotation, index: int, paths: Mapping[str, str], fingerprint: str) -> Json:
    text = _message(annotation.text)
    hint = f"\n{_message(annotation.hint)}" if annotation.hint else ""
    location: Json = {"physicalLocation": _place(annotation, paths)}
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


def _place(annotation: Annotation, paths: Mapping[str, str]) -> Json:
    line = annotation.line
    if annotation.file is not None:
        artifact: Json = {"uri": quote(paths[annotation.file]), "uriBaseId": _ROOT}
    else:
        stage = f".{annotation.stage}" if annotation.stage is not None else ""
        artifact, line = {"uri": quote(f"{annotation.kernel}{stage}")}, annotation.stage_line
    return {
        "artifactLocation": artifact,
        **({"region": {"startLine": line}} if line is not None else {}),
    }


def _message(text: str) -> str:
    """Return text on one line that neither SARIF nor Markdown takes for a link."""
    return printable_line(text).replace("](", "] (")


def _fingerprints(found: Sequence[Annotation]) -> list[str]:
    """Return fingerprints that identify results after lines have moved.

    Line numbers and numbers in the message are left out: they change with every edit of the
    kernel. Results that agree in all the rest differ by their order. ``primaryLocationLineHash``
    is not ours to write: GitHub's upload action hashes the file that it has, fills that in where
    it is missing, and warns where it finds another (github/codeql-action, src/fingerprints.ts).
    """
    often: Counter[str] = Counter()
    prints = []
    for each in found:
        message = re.sub(r"\d+", "#", each.message)
        parts = (each.rule, each.kernel, each.file or "", each.code, message, *each.where)
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
        prints.append(f"{digest}:{often[digest]}")
        often[digest] += 1
    return prints
