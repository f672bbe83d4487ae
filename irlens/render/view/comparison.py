"""Comparisons as nodes: the verdict, what changed by importance, and the two sides of the code."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from irlens.model.code import CodeComparison, CodeComparisons
from irlens.model.comparison import Comparison, Comparisons, LineDelta, MixDelta
from irlens.model.pressure import PRESSURE_STAGES
from irlens.model.text import count, plural
from irlens.render.options import Options
from irlens.render.view import changes, nodes
from irlens.render.view.code import code_summary
from irlens.render.view.comparison_verdict import summary, verdict
from irlens.render.view.drawings import place_of
from irlens.render.view.findings import delta_items
from irlens.render.view.launch_time import predicted_time
from irlens.render.view.nodes import Cells, Column, Node, Run, Text, phrases, row, table, text
from irlens.render.view.overlays import overlays
from irlens.render.view.program import change_view
from irlens.render.view.sides import lettered, sides_tables

_CLASSES_SHOWN, _LINES_SHOWN = 8, 12


def comparisons_view(comparisons: Comparisons, options: Options) -> nodes.Section:
    """Return one comparison, or several with a table of them first.

    Args:
        options: The code of a single pair, and how the user named the sides.
    """
    pairs = comparisons.pairs
    alone = changes.unpaired(comparisons)
    if len(pairs) == 1 and not alone and not comparisons.programs:
        return pair_view(pairs[0], options)
    against_first = comparisons.against_first and bool(pairs)
    children: list[Node] = [change_view(each, options) for each in comparisons.programs]
    children.append(summary(comparisons))
    if against_first:
        pairs, letters = lettered(pairs)
        children += [*letters, *sides_tables(pairs)]
    elif pairs:
        children += _overview(pairs)
    children += [
        nodes.Items(tuple(text(changes.describe(side)) for side in missing), label=what)
        for what, missing in alone
    ]
    inner = replace(options, subject=None, code=())
    children += [
        nodes.Section(
            changes.full_title(pair),
            (pair_view(pair, replace(inner, sides=options.sides[index : index + 1])),),
            key=f"p{index}",
            folded=True,
            detail="each" if against_first else "",
        )
        for index, pair in enumerate(pairs)
        if pair.different or len(pairs) == 1
    ]
    children += _next_steps(pairs, options)
    kernel = ""
    if against_first:
        one_target = len({pair.before.target for pair in pairs}) == 1
        kernel = changes.title(pairs[0]) if one_target else pairs[0].before.kernel
    return nodes.Section(kernel, tuple(children), key="comparisons")


def pair_view(pair: Comparison, options: Options) -> nodes.Section:
    """Return one comparison: of the changes only the decisive ones are unfolded."""
    (named,), letters = lettered([pair])
    between = text(Run(changes.sides(named), "strong"))
    children = (verdict(pair), *letters, *_pair(named, options))
    return nodes.Section(changes.title(pair), children, key="comparison", aside=between)


def _pair(pair: Comparison, options: Options) -> Iterator[Node]:
    """Yield what follows the verdict."""
    if pair.different:
        yield changes_table(pair)
        if alone := changes.one_sided(pair):
            yield nodes.Items(tuple(text(Run(each, "strong")) for each in alone))
        if registers := changes.about_registers(pair):
            yield nodes.Facts((nodes.Fact("Registers", text(registers)),))
        if time := predicted_time(pair.time_ratio):
            yield nodes.Facts((time,))
        if neither := changes.not_judged(pair):
            yield nodes.Facts(neither)
        if pair.regain:
            yield nodes.Items(tuple(map(text, pair.regain)), label="To regain occupancy")
        yield from _minor(pair)
        yield from _loads(pair)
        if pair.findings:
            yield _findings(pair)
        yield from _mixes(pair)
        if options.sides:
            yield from overlays(*options.sides[0], (pair.before.label, pair.after.label))
        if pair.lines:
            yield nodes.Section(
                "Lines of Python", (_lines(pair),), key="lines", full=True, wide=True
            )
    if options.code:
        first = next((each for each in options.code if each.different), None)
        diffs = tuple(
            nodes.CodeDiff(each.stage, code_summary(each), each, folded=each is not first)
            for each in options.code
        )
        yield nodes.Section("Code", diffs, key="code", detail="code")
    if left_out := changes.not_compared(pair):
        yield nodes.Facts(left_out)
    yield from _next_steps([pair], options)


def _next_steps(pairs: Sequence[Comparison], options: Options) -> Iterator[nodes.NextSteps]:
    """Yield what explains the changes: the code, and what a new finding means."""
    if options.subject is None or not any(pair.different for pair in pairs):
        return
    named = options.subject or "BEFORE AFTER"
    arch = {
        side.target.vendor for pair in pairs for side in (pair.before, pair.after) if side.target
    }
    assembly = "amdgcn" if arch == {"amd"} else "ptx"
    commands = [
        nodes.Command(f"irlens diff {named} --stage ttgir,{assembly}", "what changed in the code")
    ]
    new = [
        each.after
        for pair in pairs
        for each in pair.findings
        if changes.finding_state(each) == "new"
    ]
    codes = dict.fromkeys(finding.code for finding in new if finding is not None)
    commands += [
        nodes.Command(f"irlens explain {code}", "what the new finding means, and what to do")
        for code in list(codes)[:1]
    ]
    yield nodes.NextSteps(tuple(commands))


def changes_table(pair: Comparison) -> nodes.Table:
    """Return the figures that matter on both sides, and how far they changed."""
    columns = nodes.titled("", *nodes.numeric(pair.before.label, pair.after.label, ""))
    rows = tuple(
        row(
            each.name,
            each.before,
            Run(each.after, each.tone),
            changes.signed_change(each),
            tone=changes.row_tone(each.weight if each.changed else None),
        )
        for each in changes.main_changes(pair)
    )
    return nodes.Table(columns, rows, name="what changed")


def _minor(pair: Comparison) -> Iterator[Node]:
    """The figures that matter little: in a line, or in full where there is room."""
    minor = changes.minor_changes(pair)
    if not minor:
        return
    arrows = [Run(each.arrow, "dim") for each in minor]
    yield nodes.Facts(
        (nodes.Fact("Also", text(arrows[0]), (phrases(*arrows[1:]),), stands_for="minor"),)
    )
    rows: list[Cells] = [
        [each.name, each.before, each.after, changes.signed_change(each)] for each in minor
    ]
    columns = nodes.titled("", *nodes.numeric("before", "after", ""))
    figures = table(columns, rows, "minor figures")
    title = plural(len(minor), "minor figure")
    yield nodes.Section(title, (figures,), key="minor", detail="minor", folded=True)


def _loads(pair: Comparison) -> Iterator[Node]:
    loads = [
        (place, [Run(f"{each.arrow} {each.sign}".strip(), each.tone) for each in of_load])
        for place, of_load in changes.load_changes(pair)
    ]
    if not loads:
        return
    yield nodes.Facts(
        tuple(
            nodes.Fact(
                "" if index else "Loads", text(place), (phrases(*arrows),), stands_for="loads"
            )
            for index, (place, arrows) in enumerate(loads)
        )
    )
    rows: list[Cells] = [
        [Run(place, "code"), text(*(run for arrow in arrows for run in (arrow, Run("  "))))]
        for place, arrows in loads
    ]
    moved = table(nodes.titled("", ""), rows, "loads")
    yield nodes.Section("Loads", (moved,), key="loads", detail="loads")


def _findings(pair: Comparison) -> nodes.Findings:
    items = [item for each in pair.findings for item in delta_items(each, pair)]
    states = [changes.finding_state(each) for each in pair.findings]
    counted = ", ".join(
        f"{states.count(state)} {state}" for state in ("new", "gone", "changed") if state in states
    )
    return nodes.Findings(tuple(items), text(counted))


def _mixes(pair: Comparison) -> Iterator[Node]:
    """Instruction mixes: in a line each, or in full where there is room."""
    if pair.mix:
        yield nodes.Facts(tuple(map(_mix_fact, pair.mix)))
    for mix in pair.mix:
        total = changes.change_of(mix.total)
        columns = nodes.titled("class", *nodes.numeric("before", "after", ""))
        rows: list[Cells] = [
            [each.name, each.before, each.after, each.change]
            for each in map(changes.change_of, mix.classes)
        ]
        yield nodes.Section(
            title=f"Instructions in {mix.stage}",
            children=(table(columns, rows, f"instructions in {mix.stage}"),),
            key="mix",
            aside=text(f"{total.before} → {total.after} ({total.change})"),
            detail="mix",
        )


def _mix_fact(mix: MixDelta) -> nodes.Fact:
    total = changes.change_of(mix.total)
    classes = [changes.change_of(each) for each in mix.classes]
    shown = [f"{each.name} {each.change}" for each in classes[:_CLASSES_SHOWN]]
    if len(classes) > _CLASSES_SHOWN:
        shown.append(f"and {count(len(classes) - _CLASSES_SHOWN)} more")
    value = f"{mix.stage} {total.before} → {total.after} instructions ({total.change})"
    return nodes.Fact("Mix", text(value), (phrases(*shown),) if shown else (), stands_for="mix")


def _lines(pair: Comparison) -> nodes.Table:
    columns = nodes.titled(
        "line", "in", *nodes.numeric("instructions", "", "live", ""), Column(code=True)
    )
    # One stage speaks: the nearest to the machine.
    stages = {each.stage for each in pair.lines}
    speaking = next((stage for stage in PRESSURE_STAGES if stage in stages), "")
    shown = [each for each in pair.lines if each.stage == speaking]
    rows = tuple(_line(each, pair) for each in shown)
    return nodes.Table(
        columns, rows, "lines of Python that changed", shown=_LINES_SHOWN, noun="line"
    )


def _line(line: LineDelta, pair: Comparison) -> nodes.Row:
    instructions, peak = changes.change_of(line.instructions), changes.change_of(line.peak)
    # A line without code on the second side goes by its number on the first.
    code = pair.code if line.instructions.after else pair.code | pair.code_before
    return row(
        Run(str(line.source), place=place_of(line.source)),
        line.stage,
        instructions.after,
        instructions.change,
        peak.after,
        peak.change,
        Run(code.get(str(line.source), ""), "code"),
    )


def _overview(pairs: Sequence[Comparison]) -> Iterator[Node]:
    """Yield a row for each pair, and once what several of them lack a time for."""
    told = [pair.verdict.no_time for pair in pairs if pair.different]
    lacking = Counter(filter(None, told))
    said = {reason: number for reason, number in lacking.items() if number > 1}
    rows = tuple(
        row(
            changes.full_title(pair),
            _in_a_line(verdict(_in_brief(pair) if pair.verdict.no_time in said else pair)),
            tone="neutral" if pair.different else "dim",
            anchor=f"p{index}" if pair.different else "",
        )
        for index, pair in enumerate(pairs)
    )
    yield nodes.Table(nodes.titled("kernel", "what changed"), rows, name="comparisons")
    for reason, number in said.items():
        what, _, why = reason.partition(": ")
        yield nodes.Sentence(f"{what} of {count(number)} of these: {why}", "unknown")


def _in_brief(pair: Comparison) -> Comparison:
    """Return a pair that does not say why there is no time."""
    what = pair.verdict.no_time.partition(": ")[0]
    return replace(pair, verdict=replace(pair.verdict, no_time=what))


def _in_a_line(verdict: nodes.Headline) -> Text:
    """A verdict in a cell, with its sign."""
    first, *others = verdict.phrases
    rest = (run for phrase in others for run in (Run(" · "), phrase))
    return text(Run(verdict.sign, verdict.tone), first, *rest)


def _code_title(comparison: CodeComparison) -> str:
    """Return kernel, GPU and what was requested: "softmax_kernel on sm_90 num_warps=4 → 8"."""
    return " ".join(filter(None, (changes.title(comparison), changes.sides(comparison))))


def codes_view(comparisons: CodeComparisons) -> nodes.Section:
    """Return stages of captures, held against each other."""
    pairs = comparisons.pairs
    titles = dict.fromkeys(map(_code_title, pairs))
    one = len(titles) == 1
    differing = sum(pair.different for pair in pairs)
    headline = f"{count(differing)} of {count(len(pairs))} differ"
    children: list[Node] = [
        nodes.Headline((Run(code_summary(pairs[0]) if len(pairs) == 1 else headline),)),
        *(
            nodes.CodeDiff(
                pair.stage if one else f"{_code_title(pair)}: {pair.stage}",
                code_summary(pair),
                pair,
                folded=False,
            )
            for pair in pairs
        ),
    ]
    missing = [f"not compared: {each}" for each in comparisons.missing]
    missing += [f"removed: {changes.describe(side)}" for side in comparisons.removed]
    missing += [f"added: {changes.describe(side)}" for side in comparisons.added]
    if missing:
        children.append(nodes.Items(tuple(map(text, missing))))
    return nodes.Section(next(iter(titles)) if one else "code", tuple(children), key="codes")
