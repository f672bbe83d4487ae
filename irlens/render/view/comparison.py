"""Comparisons as nodes: the verdict, what changed by importance, and the two sides of the code."""

from collections.abc import Iterator, Sequence

from irlens import figures
from irlens.model.code import CodeComparison, CodeComparisons
from irlens.model.comparison import (
    Comparison,
    Comparisons,
    Delta,
    FindingDelta,
    LineDelta,
    MixDelta,
)
from irlens.model.text import count, plural
from irlens.render.view.changes import (
    Change,
    about_registers,
    change_of,
    describe,
    finding_state,
    load_changes,
    main_changes,
    minor_changes,
    one_sided,
    sides,
    summary,
    title,
    unpaired,
    verdict,
)
from irlens.render.view.code import code_summary
from irlens.render.view.drawings import place_of
from irlens.render.view.nodes import (
    Cell,
    Cells,
    CodeDiff,
    Column,
    Fact,
    Facts,
    FindingItem,
    Findings,
    Headline,
    Items,
    Node,
    Row,
    Run,
    Section,
    Sentence,
    Table,
    Text,
    Tone,
    cell,
    phrases,
    table,
    text,
)
from irlens.render.view.report import finding_item

_CLASSES_SHOWN, _LINES_SHOWN = 8, 12
_STATE_TONES: dict[str, Tone] = {"new": "warn", "gone": "good", "was": "dim", "now": "warn"}
_ROW_TONES: dict[tuple[bool, bool], Tone] = {
    (True, True): "strong", (True, False): "neutral", (False, True): "dim", (False, False): "dim",
}  # fmt: skip


def comparisons_view(comparisons: Comparisons, code: Sequence[CodeComparison] = ()) -> Section:
    """Return one comparison, or several with a table of them first.

    Args:
        comparisons: What changed.
        code: The stages of a single pair, for media that show them.
    """
    pairs = comparisons.pairs
    alone = unpaired(comparisons)
    if len(pairs) == 1 and not alone:
        return pair_view(pairs[0], code)
    against_first = comparisons.against_first and bool(pairs)
    children: list[Node] = [Headline((summary(comparisons),))]
    if pairs:
        children.append(_against_first(pairs) if against_first else _overview(pairs))
    children += [
        Items(tuple(text(describe(side)) for side in missing), label=what)
        for what, missing in alone
    ]
    children += [
        Section(_name(pair), (pair_view(pair),), key=f"p{index}", folded=True)
        for index, pair in enumerate(pairs)
        if pair.different or len(pairs) == 1
    ]
    return Section(title(pairs[0]) if against_first else "", tuple(children), key="comparisons")


def _name(pair: Comparison) -> str:
    return ", ".join(filter(None, (title(pair), sides(pair))))


def pair_view(pair: Comparison, code: Sequence[CodeComparison] = ()) -> Section:
    """Return one comparison: of the changes only the decisive ones are unfolded."""
    between = text(Run(sides(pair), "strong"))
    return Section(title(pair), tuple(_pair(pair, code)), key="comparison", aside=between)


def _pair(pair: Comparison, code: Sequence[CodeComparison]) -> Iterator[Node]:
    yield Headline(tuple(verdict(pair)))
    if pair.different:
        yield changes_table(pair)
        if alone := one_sided(pair):
            yield Items(tuple(text(Run(each, "strong")) for each in alone))
        if registers := about_registers(pair):
            yield Facts((Fact("Registers", text(registers)),))
        if pair.regain:
            yield Items(tuple(map(text, pair.regain)), label="To regain occupancy")
        yield from _minor(pair)
        yield from _loads(pair)
        if pair.findings:
            yield _findings(pair)
        yield from _mixes(pair)
        if pair.lines:
            yield Section("Lines of Python", (_lines(pair),), key="lines", full=True, wide=True)
    if code:
        diffs = tuple(CodeDiff(each.stage, code_summary(each), each) for each in code)
        yield Section("Code", diffs, key="code", detail="code")
    if pair.not_compared:
        yield Sentence(f"only one side has {', '.join(pair.not_compared)}", "dim", "Left out")


def changes_table(pair: Comparison) -> Table:
    """Return the figures that matter on both sides, and how far they changed."""
    columns = (
        Column(),
        Column(pair.before.label, numbers=True),
        Column(pair.after.label, numbers=True),
        Column("", numbers=True),
    )
    rows = tuple(
        Row(
            (text(each.name), text(each.before), text(each.after), _change(each)),
            tone=_ROW_TONES[each.changed, each.weight == "much"],
        )
        for each in main_changes(pair)
    )
    return Table(columns, rows, name="what changed")


def _change(change: Change) -> Text:
    """How far a figure changed, with a mark that says whether that is good."""
    sign = {"better": " ✓", "worse": " !"}.get(change.tone, "") if change.change else ""
    return text(Run(change.change + sign, change.tone))


def _minor(pair: Comparison) -> Iterator[Node]:
    """The figures that matter little: in a line, or in full where there is room."""
    minor = minor_changes(pair)
    if not minor:
        return
    arrows = [Run(each.arrow, "dim") for each in minor]
    yield Facts((Fact("Also", text(arrows[0]), (phrases(*arrows[1:]),), stands_for="minor"),))
    rows: list[Cells] = [[each.name, each.before, each.after, _change(each)] for each in minor]
    columns = (Column(), Column("before", numbers=True), Column("after", numbers=True),
               Column(numbers=True))  # fmt: skip
    yield Section(f"{plural(len(minor), 'minor figure')}", (table(columns, rows, "minor figures"),),
                  key="minor", detail="minor", folded=True)  # fmt: skip


def _loads(pair: Comparison) -> Iterator[Node]:
    loads = [(place, [each.arrow for each in of_load]) for place, of_load in load_changes(pair)]
    if not loads:
        return
    yield Facts(
        tuple(
            Fact("" if index else "Loads", text(place), (phrases(*arrows),), stands_for="loads")
            for index, (place, arrows) in enumerate(loads)
        )
    )
    rows: list[Cells] = [[Run(place, "code"), ", ".join(arrows)] for place, arrows in loads]
    moved = table((Column(), Column()), rows, "loads")
    yield Section("Loads", (moved,), key="loads", detail="loads")


def _findings(pair: Comparison) -> Findings:
    items = [item for each in pair.findings for item in _finding(each, pair.code)]
    states = [finding_state(each) for each in pair.findings]
    counted = ", ".join(
        f"{states.count(state)} {state}" for state in ("new", "gone", "changed") if state in states
    )
    return Findings(tuple(items), text(counted))


def _finding(delta: FindingDelta, code: dict[str, str]) -> Iterator[FindingItem]:
    state = finding_state(delta)
    names = ("was", "now") if state == "changed" else (state, state)
    for name, finding in zip(names, (delta.before, delta.after), strict=True):
        if finding is not None:
            yield finding_item(finding, code, name, _STATE_TONES[name])


def _mixes(pair: Comparison) -> Iterator[Node]:
    """Instruction mixes: in a line each, or in full where there is room."""
    if pair.mix:
        yield Facts(tuple(map(_mix_fact, pair.mix)))
    for mix in pair.mix:
        total = change_of(mix.total)
        columns = (Column("class"), Column("before", numbers=True), Column("after", numbers=True),
                   Column(numbers=True))  # fmt: skip
        rows: list[Cells] = [
            [each.name, each.before, each.after, each.change]
            for each in map(change_of, mix.classes)
        ]
        yield Section(
            title=f"Instructions in {mix.stage}",
            children=(table(columns, rows, f"instructions in {mix.stage}"),),
            key="mix",
            aside=text(f"{total.before} → {total.after} ({total.change})"),
            detail="mix",
        )


def _mix_fact(mix: MixDelta) -> Fact:
    total = change_of(mix.total)
    classes = [change_of(each) for each in mix.classes]
    shown = [f"{each.name} {each.change}" for each in classes[:_CLASSES_SHOWN]]
    if len(classes) > _CLASSES_SHOWN:
        shown.append(f"and {count(len(classes) - _CLASSES_SHOWN)} more")
    value = f"{mix.stage} {total.before} → {total.after} instructions ({total.change})"
    return Fact("Mix", text(value), (phrases(*shown),) if shown else (), stands_for="mix")


def _lines(pair: Comparison) -> Table:
    columns = (
        Column("line"), Column("in"), Column("instructions", numbers=True), Column(numbers=True),
        Column("live", numbers=True), Column(numbers=True), Column(code=True),
    )  # fmt: skip
    rows = tuple(Row(tuple(_line(each, pair.code))) for each in pair.lines)
    return Table(columns, rows, "lines of Python that changed", shown=_LINES_SHOWN, noun="line")


def _line(line: LineDelta, code: dict[str, str]) -> Iterator[Cell]:
    instructions, peak = change_of(line.instructions), change_of(line.peak)
    yield text(Run(str(line.source), place=place_of(line.source)))
    yield from map(cell, (line.stage, instructions.after, instructions.change))
    yield from map(cell, (peak.after, peak.change))
    yield text(Run(code.get(str(line.source), ""), "code"))


def _overview(pairs: Sequence[Comparison]) -> Table:
    rows = tuple(
        Row(
            (text(_name(pair)), text(", ".join(verdict(pair)))),
            tone="neutral" if pair.different else "dim",
            anchor=f"p{index}" if pair.different else "",
        )
        for index, pair in enumerate(pairs)
    )
    return Table((Column("kernel"), Column("what changed")), rows, name="comparisons")


def _against_first(pairs: Sequence[Comparison]) -> Table:
    """One row per side: the figures one always wants to see, and how far they changed."""
    known = [_column_deltas(pair) for pair in pairs]
    titles = list(dict.fromkeys(name for each in known for name in each))
    first = [next(each[name] for each in known if name in each) for name in titles]
    rows = [Row((text(pairs[0].before.label), *(cell(_value(each)) for each in first)))]
    rows += [
        Row(
            (text(pair.after.label), *(_after(each.get(name)) for name in titles)),
            anchor=f"p{index}",
        )
        for index, (pair, each) in enumerate(zip(pairs, known, strict=True))
    ]
    columns = (Column(), *(Column(name) for name in titles))
    return Table(columns, tuple(rows), name="sides")


def _column_deltas(pair: Comparison) -> dict[str, Delta]:
    """The figures that are columns, by heading; numbered where several loops have them."""
    loops = [d for loop in pair.loops if loop.presence == "both" for d in loop.deltas]
    columns: dict[str, Delta] = {}
    for figure in figures.COLUMNS:
        source = loops if figure.scope == "pipeline" else pair.figures
        same = [each for each in source if each.path == figure.field]
        name = figure.short or figure.title
        for number, each in enumerate(same, 1):
            columns[name if len(same) == 1 else f"{name} {number}"] = each
    return columns


def _value(delta: Delta) -> str:
    return figures.format_value(delta.before, delta.unit)


def _after(delta: Delta | None) -> Cell:
    if delta is None:
        return text(figures.UNKNOWN)
    change = change_of(delta, scope="report")
    if not change.changed:
        return text(f"{change.after} ", Run(change.change, "dim"))
    tone = change_of(delta, scope="pipeline" if "." not in delta.path else "report").tone
    return text(f"{change.after} ", Run(change.change.removesuffix(" B"), tone))


def _code_title(comparison: CodeComparison) -> str:
    """Return kernel, GPU and what was requested: "softmax_kernel on sm_90 num_warps=4 → 8"."""
    return " ".join(filter(None, (title(comparison), sides(comparison))))


def codes_view(comparisons: CodeComparisons) -> Section:
    """Return stages of captures, held against each other."""
    pairs = comparisons.pairs
    titles = dict.fromkeys(map(_code_title, pairs))
    one = len(titles) == 1
    differing = sum(pair.different for pair in pairs)
    headline = f"{count(differing)} of {count(len(pairs))} differ"
    children: list[Node] = [
        Headline((code_summary(pairs[0]) if len(pairs) == 1 else headline,)),
        *(
            CodeDiff(
                pair.stage if one else f"{_code_title(pair)}: {pair.stage}",
                code_summary(pair),
                pair,
                folded=False,
            )
            for pair in pairs
        ),
    ]
    missing = [f"not compared: {each}" for each in comparisons.missing]
    missing += [f"removed: {describe(side)}" for side in comparisons.removed]
    missing += [f"added: {describe(side)}" for side in comparisons.added]
    if missing:
        children.append(Items(tuple(map(text, missing))))
    return Section(next(iter(titles)) if one else "code", tuple(children), key="codes")
