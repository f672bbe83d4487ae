"""The instruction mix: how many instructions of each class."""

from irlens.model.report import InstructionMix, Report
from irlens.model.text import count, percent, plural
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._parts import card, stated, table
from irlens.render.html._svg import bar


def mixes(report: Report) -> Markup:
    """Return a card for each stage whose instructions were counted."""
    return join(_mix(mix) for mix in report.mix)


def _mix(mix: InstructionMix) -> Markup:
    ordered = sorted(mix.classes.items(), key=lambda item: (-item[1], item[0]))
    most = max([1, *mix.classes.values(), *mix.unknown.values()])
    rows: list[list[Content]] = [
        [name, count(number), percent(number / max(mix.total, 1)), bar(number / most)]
        for name, number in ordered
    ]
    rows += [
        [
            join([tag("code", name), " ", stated("warn", "unknown opcode")]),
            count(number),
            percent(number / max(mix.total, 1)),
            bar(number / most, state="warn"),
        ]
        for name, number in sorted(mix.unknown.items())
    ]
    header = ["class", "", "", ""]
    return card(
        f"Instructions in {mix.stage}",
        table(header, rows, right=(1, 2), class_="figures", name=f"instruction mix of {mix.stage}"),
        aside=f"{plural(mix.total, 'instruction')}, each counted once",
    )
