"""What moved, in Markdown: the verdict and a table, and each comparison in full folded away."""

from irlens.model.comparison import Comparison, Comparisons, FindingDelta
from irlens.model.moved import about_registers, finding_state, main_rows, one_sided, verdict
from irlens.render import View
from irlens.render._changes import describe, left_out, side_table, sides, summary, title, unpaired
from irlens.render.markdown import FOLDED_WIDTH
from irlens.render.markdown._document import Document, code, words
from irlens.render.markdown._findings import item
from irlens.render.text import comparisons as text


def render(comparisons: Comparisons, view: View) -> str:
    """Return what moved: the verdict and a table, and each comparison in full folded below."""
    document = Document("diff")
    pairs = comparisons.pairs
    if len(pairs) == 1 and not any(alone for _, alone in unpaired(comparisons)):
        _one(document, pairs[0])
    elif comparisons.against_first:
        document.paragraph(f"**{words(title(pairs[0]))}**: {words(summary(comparisons))}")
        header, rows, labels = side_table(pairs)
        cells = [[code(label), *map(words, row)] for label, row in zip(labels, rows, strict=True)]
        document.table(["", *header], cells, right=())
    else:
        document.paragraph(f"**{words(summary(comparisons))}**")
        rows = [
            [words(title(pair)), words(", ".join(verdict(pair)))]
            for pair in pairs
            if pair.different
        ]
        document.table(["kernel", "what moved"], rows, right=())
        document.bullets(
            f"{what}: {words(describe(side))}"
            for what, alone in unpaired(comparisons)
            for side in alone
        )
    folded = View(width=FOLDED_WIDTH, details=view.details)
    for pair in pairs:
        if pair.different:
            alone = Comparisons(
                schema=comparisons.schema, different=True, against_first=False, pairs=[pair]
            )
            named = ", ".join(filter(None, (title(pair), sides(pair))))
            document.folded(named, text.render(alone, folded))
    return document.text()


def _one(document: Document, pair: Comparison) -> None:
    document.paragraph(f"**{words(title(pair))}**: {words(', '.join(verdict(pair)))}")
    if not pair.different:
        if left_out(pair):
            document.paragraph(words(left_out(pair)))
        return
    rows = [
        [words(row.name), words(row.before), words(row.after), words(row.change)]
        for row in main_rows(pair)
    ]
    document.table(["", code(pair.before.label), code(pair.after.label), ""], rows, right=(1, 2))
    registers = about_registers(pair)
    document.bullets(
        [
            *(words(told) for told in one_sided(pair)),
            *([f"registers: {words(registers)}"] if registers else []),
            *(f"to regain occupancy: {words(step)}" for step in pair.regain),
            *(_moved(found) for found in pair.findings),
        ]
    )


def _moved(found: FindingDelta) -> str:
    finding = found.after or found.before
    return f"{finding_state(found)}: {item(finding)}" if finding is not None else ""
