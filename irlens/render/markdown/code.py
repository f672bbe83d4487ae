"""What moved in stages' text, in Markdown: how much, and each diff folded away."""

from collections.abc import Iterator

from irlens.model.code import CodeComparison, CodeComparisons
from irlens.model.code_lines import place, summary, unified
from irlens.model.text import printable_line
from irlens.render import View
from irlens.render._code import left_out, title
from irlens.render.markdown._document import Document, code, words


def render(comparisons: CodeComparisons, view: View) -> str:
    """Return how much moved in each stage, and the differences folded below."""
    document = Document("diff-code")
    document.bullets(
        f"**{words(title(pair))}**, {code(pair.stage)}: {words(summary(pair))}"
        for pair in comparisons.pairs
    )
    document.bullets(words(told) for told in left_out(comparisons))
    for pair in comparisons.pairs:
        if pair.different:
            document.folded_diff(f"{title(pair)}: {pair.stage}", list(_lines(pair)))
    return document.text()


def _lines(comparison: CodeComparison) -> Iterator[str]:
    for hunk in comparison.hunks:
        yield printable_line(f"@@ {place(hunk)} @@ {hunk.heading}".rstrip())
        for line in unified(hunk, underline=True):
            # What is under a line is no line of the diff.
            mark = " " if line.mark == "~" else line.mark
            yield f"{mark} {line.text}".rstrip()
