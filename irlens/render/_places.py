"""Where the files are that annotations are about."""

from collections.abc import Sequence

from irlens.render import View
from irlens.render._annotations import Annotation


def paths(annotations: Sequence[Annotation], view: View) -> dict[str, str]:
    """Return the path of each file that annotations name, relative to the sources' root."""
    lines: dict[str, dict[int, str]] = {}
    for each in annotations:
        if each.file is not None:
            known = lines.setdefault(each.file, {})
            if each.line is not None and each.code:
                known[each.line] = each.code
    return {file: view.locate(file, known) or file for file, known in lines.items()}
