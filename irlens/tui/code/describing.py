"""What is known of a line, in words."""

from collections.abc import Sequence

from irlens.model.listing import PipelineMark
from irlens.model.text import plural
from irlens.tui.code.document import Document
from irlens.tui.code.gutters import ROLE_SIGNS
from irlens.tui.drawing import SEVERITY_SIGN

_LINES_NAMED = 6


def chain(document: Document, line: int) -> str:
    """Return where a line comes from: the user's line first, then what is inlined into it."""
    return " ▸ ".join(str(location) for location in reversed(document.chain(line)))


def facts(document: Document, line: int) -> list[str]:
    """Return what the gutters say of a line, the most important first."""
    findings = document.findings.get(line, ())
    found = [f"{SEVERITY_SIGN[one.severity]} {one.code} {one.message}" for one in findings]
    mark = document.mark(line)
    if mark is not None:
        found.append(f"{ROLE_SIGNS[mark.role]} {_marked(document, mark)}")
        note = document.listing.note
        if mark.serialized and not any(note.startswith(one.code) for one in findings):
            found.append(note)
    live = document.live(line)
    if live is not None:
        most, where = (
            ("up to ", f" in {document.live_in}") if document.stage == "python" else ("", "")
        )
        found.append(f"{most}{plural(live, 'live register')}{where}, peak {document.listing.peak}")
    loop = document.loop(line)
    if loop is not None:
        of = f" of {loop.source}" if loop.source else ""
        found.append(f"loop {loop.first}–{loop.last}{of}, depth {loop.depth}")
    return found


def _marked(document: Document, mark: PipelineMark) -> str:
    role = document.role(mark)
    if not mark.partners:
        return role
    lines = _lines(sorted(mark.partners))
    partners = (document.mark(line) for line in mark.partners)
    committed = any(other is not None and other.role == "commit" for other in partners)
    match mark.role:
        case "copy" if committed:
            return f"{role}, its group is committed at {lines}"
        case "wait" if committed:
            return f"wait for what is committed at {lines}"
        case "wait":
            return f"wait for what begins at {lines}"
        case _:
            return f"{role}, waited for at {lines}"


def _lines(lines: Sequence[int]) -> str:
    named = ", ".join(map(str, lines[:_LINES_NAMED]))
    more = len(lines) - _LINES_NAMED
    return f"{named} and {more} more" if more > 0 else named
