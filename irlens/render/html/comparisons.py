"""What moved between reports, as a page: the verdict, tables, and the two sides of the code."""

from collections.abc import Sequence

from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison, Comparisons, FindingDelta, LineDelta, MixDelta
from irlens.model.moved import (
    Row,
    about_registers,
    change_text,
    figure_title,
    finding_state,
    load_rows,
    main_rows,
    minor_rows,
    one_sided,
    value_text,
    verdict,
)
from irlens.model.text import plural
from irlens.render import View
from irlens.render._changes import describe, left_out, side_table, sides, summary, title, unpaired
from irlens.render.html._findings import finding
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._page import document
from irlens.render.html._parts import State, badge, card, folded, phrases, stated, table
from irlens.render.html._places import Places
from irlens.render.html._sides import sides as code_sides

#: The command brings the code of the two sides along.
SHOWS_CODE = True
_STATES: dict[str, State] = {"new": "warn", "gone": "good", "changed": "dim"}


def render(comparisons: Comparisons, view: View) -> str:
    """Return a page of one comparison, or of several with a table of them first."""
    pairs = comparisons.pairs
    if len(pairs) == 1 and not any(alone for _, alone in unpaired(comparisons)):
        body = tag("main", tag("h1", tag("code", title(pairs[0]))), _pair(pairs[0], view.code))
        return document(title(pairs[0]), body)
    name = title(pairs[0]) if comparisons.against_first else "comparison"
    folds = [
        folded(tag("b", _named(pair)), tag("article", _pair(pair, ()), id=f"p{index}"))
        for index, pair in enumerate(pairs)
        if pair.different
    ]
    body = tag(
        "main",
        tag("h1", name),
        tag("p", stated("plain", summary(comparisons)), class_="verdict"),
        _against_first(pairs) if comparisons.against_first else _overview(pairs),
        _unpaired(comparisons),
        *folds,
        class_="many",
    )
    return document(name, body)


def _named(pair: Comparison) -> str:
    return ", ".join(filter(None, (title(pair), sides(pair))))


def _against_first(pairs: Sequence[Comparison]) -> Markup:
    titles, rows, labels = side_table(pairs)
    cells = [[label, *row] for label, row in zip(labels, rows, strict=True)]
    return table(["", *titles], cells, class_="figures")


def _overview(pairs: Sequence[Comparison]) -> Markup:
    rows = [
        [
            tag("a", _named(pair), href=f"#p{index}") if pair.different else _named(pair),
            phrases(verdict(pair)),
        ]
        for index, pair in enumerate(pairs)
    ]
    kinds = ["" if pair.different else "still" for pair in pairs]
    return table(["kernel", "what moved"], rows, kinds=kinds, class_="figures")


def _unpaired(comparisons: Comparisons) -> Markup | None:
    told = [
        tag("li", f"{what}: ", tag("code", describe(side)))
        for what, alone in unpaired(comparisons)
        for side in alone
    ]
    return tag("ul", *told) if told else None


def _pair(pair: Comparison, code: Sequence[CodeComparison]) -> Markup:
    told = tag("p", stated("plain", phrases(verdict(pair))), class_="verdict")
    between = sides(pair)
    head = join([tag("p", tag("code", between)) if between else None, told])
    if not pair.different:
        return join([head, _code(code), _not_compared(pair)])
    registers = about_registers(pair)
    return join(
        [
            head,
            tag("p", registers) if registers else None,
            card("What moved", _table(pair, main_rows(pair)), _one_sided(pair), wide=True),
            card("To regain occupancy", tag("ul", *(tag("li", step) for step in pair.regain)))
            if pair.regain
            else None,
            _findings(pair),
            tag(
                "div", _loads(pair), *(_mix(mix) for mix in pair.mix), _minor(pair),
                _lines(pair), class_="cards",
            ),
            _code(code),
            _not_compared(pair),
        ]
    )  # fmt: skip


def _table(pair: Comparison, rows: Sequence[Row]) -> Markup:
    cells = [[row.name, row.before, row.after, row.change] for row in rows]
    kinds = [("moved" if row.weight == "much" else "") if row.moved else "still" for row in rows]
    header = ["", pair.before.label, pair.after.label, ""]
    return table(
        header, cells, right=(1, 2, 3), kinds=kinds, class_="figures compact", name="what moved"
    )


def _one_sided(pair: Comparison) -> Markup | None:
    told = one_sided(pair)
    return tag("ul", *(tag("li", each) for each in told)) if told else None


def _findings(pair: Comparison) -> Markup | None:
    if not pair.findings:
        return None
    places = Places()
    items = [_finding(found, pair, places) for found in pair.findings]
    return tag("ul", *items, class_="findings")


def _finding(found: FindingDelta, pair: Comparison, places: Places) -> Markup:
    state = finding_state(found)
    named = ("was", "now") if state == "changed" else (state, state)
    return join(
        finding(each, places, pair.code, before=join([badge(_STATES[state], name), " "]))
        for name, each in zip(named, (found.before, found.after), strict=True)
        if each is not None
    )


def _loads(pair: Comparison) -> Markup | None:
    rows: list[list[Content]] = [
        [tag("code", place), phrases(row.arrow for row in rows)] for place, rows in load_rows(pair)
    ]
    return card("Loads", table(["", ""], rows)) if rows else None


def _mix(mix: MixDelta) -> Markup:
    rows = [
        [
            figure_title(each.path),
            value_text(each.before, each.unit),
            value_text(each.after, each.unit),
            change_text(each),
        ]
        for each in mix.classes
    ]
    total = mix.total
    told = f"{value_text(total.before, 'count')} → {value_text(total.after, 'count')}"
    moved = table(["class", "before", "after", ""], rows, right=(1, 2, 3), class_="figures")
    return card(f"Instructions in {mix.stage}", moved, aside=f"{told} ({change_text(total)})")


def _minor(pair: Comparison) -> Markup | None:
    rows = minor_rows(pair)
    if not rows:
        return None
    cells = [[row.name, row.before, row.after, row.change] for row in rows]
    moved = table(["", "before", "after", ""], cells, right=(1, 2, 3), class_="figures")
    return card("And", folded(plural(len(rows), "figure") + " that matter little", moved))


def _lines(pair: Comparison) -> Markup | None:
    if not pair.lines:
        return None
    header = ["line", "in", "instructions", "", "live registers", "", ""]
    rows = [_line(line, pair.code) for line in pair.lines]
    moved = table(header, rows, right=(2, 3, 4, 5), class_="figures")
    return card("Lines of Python", moved, wide=True)


def _line(line: LineDelta, code: dict[str, str]) -> list[Content]:
    return [
        tag("code", str(line.source)),
        line.stage,
        value_text(line.instructions.after, "count"),
        change_text(line.instructions),
        value_text(line.peak.after, "count"),
        change_text(line.peak),
        tag("code", code.get(str(line.source), ""), class_="line"),
    ]


def _code(code: Sequence[CodeComparison]) -> Markup | None:
    if not code:
        return None
    stages = (code_sides(each, each.stage) for each in code)
    return tag("section", tag("h2", "Code"), *stages, class_="code")


def _not_compared(pair: Comparison) -> Markup | None:
    told = left_out(pair)
    return tag("p", told, class_="note") if told else None
