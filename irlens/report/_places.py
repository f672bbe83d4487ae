"""Where the files are that annotations are about, and what their rules mean."""

from collections.abc import Sequence

from irlens.model.rule import Rule
from irlens.report import View
from irlens.report._annotations import Annotation, own_rule


def rule_of(annotation: Annotation, view: View) -> Rule | None:
    """Return what an annotation's kind means; ``None`` where nobody knows."""
    return own_rule(annotation.rule) or view.explain(annotation.rule)


def paths(annotations: Sequence[Annotation], view: View) -> dict[str, str]:
    """Return the path of each file that annotations name, relative to the sources' root."""
    lines: dict[str, dict[int, str]] = {}
    for each in annotations:
        if each.file is not None:
            known = lines.setdefault(each.file, {})
            if each.line is not None and each.code:
                known[each.line] = each.code
    return {file: view.locate(file, known) or file for file, known in lines.items()}
