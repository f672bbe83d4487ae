"""A sweep in Markdown: how many fit, the table, and what is not in it folded away."""

from irlens.model.sweep import Sweep
from irlens.render import View
from irlens.render._sweep import (
    cells,
    columns,
    common,
    in_table,
    left_out,
    measured,
    name,
    remark,
    target_name,
    told_correlations,
    verdict,
)
from irlens.render.markdown import FOLDED_WIDTH
from irlens.render.markdown._document import Document, code, words
from irlens.render.text import sweep as text


def render(sweep: Sweep, view: View) -> str:
    """Return the verdict, a table of what fits on each target, and the text folded below."""
    document = Document("sweep")
    told = ", ".join([verdict(sweep.trials), *left_out(sweep), *remark(sweep)])
    document.paragraph(f"**{words(sweep.kernel)}**: {words(told)}")
    if shared := common(sweep):
        document.paragraph(f"all with {code(shared)}")
    header = ["", *columns(sweep)]
    for target in sweep.targets:
        trials = sweep.on(target)
        document.paragraph(f"**{words(target_name(target))}**: {words(verdict(trials))}")
        rows = [
            [code(name(trial, sweep)), *map(words, cells(trial, sweep))]
            for trial in trials
            if in_table(trial)
        ]
        document.table(header, rows, right=range(1, len(header) - 1))
    if sweep.device is not None:
        document.paragraph(words(measured(sweep)))
        document.bullets(map(words, told_correlations(sweep)))
    document.folded("all configurations", text.render(sweep, View(width=FOLDED_WIDTH)))
    return document.text()
