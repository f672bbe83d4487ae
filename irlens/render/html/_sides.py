"""The two sides of a stage's code, beside each other."""

from collections.abc import Iterable, Sequence

from irlens.model.code import CodeComparison, CodeHunk, CodeRow, Columns
from irlens.model.code_lines import pieces, place, summary
from irlens.render.html._markup import Markup, join, tag
from irlens.render.html._parts import folded, phrases


def sides(comparison: CodeComparison, name: str, *, opened: bool = False) -> Markup:
    """Return one stage: how much of it moved, and the rows."""
    told = join([tag("b", name), " ", tag("small", summary(comparison))])
    if not comparison.different:
        return tag("p", told)
    head = tag(
        "tr",
        tag("th", comparison.before.label, colspan=2, scope="col"),
        tag("th", comparison.after.label, colspan=2, scope="col"),
    )
    columns = tag("colgroup", *(tag("col", class_=name) for name in ("n", None, "n", None)))
    hunks = (tag("tbody", *_rows(hunk)) for hunk in comparison.hunks)
    whole = tag("table", columns, tag("thead", head), *hunks, class_="sides", translate="no")
    return folded(told, whole, open_=opened)


def _rows(hunk: CodeHunk) -> Iterable[Markup]:
    told = phrases([place(hunk), hunk.heading])
    yield tag("tr", tag("td", told, colspan=4), class_="heading")
    for row in hunk.rows:
        yield tag("tr", *_before(row), *_after(row))


def _before(row: CodeRow) -> Sequence[Markup]:
    gone = row.before is not None and row.kind != "same"
    return _cells(row.before_line, row.before, row.before_words, "−" if gone else "", "gone")


def _after(row: CodeRow) -> Sequence[Markup]:
    new = row.after is not None and row.kind != "same"
    return _cells(row.after_line, row.after, row.after_words, "+" if new else "", "new")


def _cells(
    number: int | None, text: str | None, words: Sequence[Columns], sign: str, style: str
) -> Sequence[Markup]:
    """The number of a line and its text; a line that is not there is empty."""
    class_ = style if sign else None
    line = "" if number is None else f"{sign} {number}".strip()
    numbered = f"n {class_}" if class_ else "n"
    return tag("td", line, class_=numbered), tag("td", _marked(text, words), class_=class_)


def _marked(text: str | None, words: Sequence[Columns]) -> Markup:
    """The text with the words that differ marked."""
    return join(
        tag("mark", piece.text) if piece.moved else piece.text for piece in pieces(text, words)
    )
