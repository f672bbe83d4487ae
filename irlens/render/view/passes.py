"""The passes of a compilation as nodes: what each changed, brought and removed."""

from collections.abc import Iterator, Mapping, Sequence

from irlens.model.comparison import Side
from irlens.model.passes import (
    Counts,
    Crossing,
    FollowedLine,
    Insertion,
    PassDifference,
    Passes,
    PassesDiff,
    PassRun,
)
from irlens.model.terms import VendorTerms
from irlens.model.text import count, plural, rounded_size
from irlens.render.view import nodes
from irlens.render.view.code import code_summary
from irlens.render.view.conversions import way
from irlens.render.view.drawings import nearest
from irlens.render.view.nodes import Column, Node, Run, row, text

#: Kinds of operations that a row names; a lowering to LLVM brings dozens.
_MOST_KINDS = 6
_COMMON = ("arith.", "builtin.", "cf.", "llvm.", "math.", "rocdl.", "scf.yield")
_OF_LLVM = ("llvm", "codegen")
#: Operations of a line that are shown as written.
_MOST_LINES = 24
#: Lines of Python that a row names.
_MOST_PLACES = 3


def passes_view(passes: Passes) -> nodes.Section:
    """Return what was asked of the passes of a compilation; where nothing was, all that changed."""
    return nodes.Section(passes.compiled.kernel, tuple(_nodes(passes)), key="passes")


def _nodes(passes: Passes) -> Iterator[Node]:
    yield compiled_settings(passes.compiled)
    runs = {run.number: run for run in passes.runs}
    if passes.crossings:
        yield nodes.Items(tuple(text(Run(crossing_words(each, runs))) for each in passes.crossings))
    for each in passes.shown:
        run = runs[each.number]
        yield nodes.CodeDiff(pass_title(run), code_summary(each.code), each.code, folded=False)
    if passes.followed is not None:
        yield _line_section(passes.followed, runs)
    if passes.insertions is not None:
        target = passes.compiled.target
        yield _inserted(passes.insertions, runs, VendorTerms(target.vendor if target else None))
        return
    if not (passes.crossings or passes.shown or passes.followed):
        yield from _overview(passes)


def _inserted(
    insertions: Sequence[Insertion], runs: Mapping[int, PassRun], terms: VendorTerms
) -> Node:
    """Return the conversions with the passes that inserted them, those in loops first."""
    if not insertions:
        return nodes.Sentence("no layout conversions in the ttgir")
    rows: list[nodes.Cells] = []
    for each in sorted(insertions, key=lambda one: -one.conversion.depth):
        conversion = each.conversion
        place = nearest(conversion.source, "ttgir", conversion.line)
        rows.append([
            Run(str(place), place=place),
            Run(conversion.used_by, "code"),
            conversion.type,
            f"{conversion.before_kind} → {conversion.after_kind}",
            way(conversion, terms),
            str(conversion.loop) if conversion.loop is not None else "",
            _inserting(each, runs),
        ])  # fmt: skip
    columns = nodes.titled("line", "for", "type", "layouts", "through", "in loop", "inserted by")
    return nodes.table(columns, rows, "layout conversions")


def _inserting(insertion: Insertion, runs: Mapping[int, PassRun]) -> str | Run:
    if insertion.number is None:
        return Run("unknown: the IR before it cannot be read", "unknown")
    number = insertion.number
    inserting = f"{number} {runs[number].name}" if number else "the source"
    if not insertion.between or insertion.between == number:
        return inserting
    return f"{inserting}; from this layout since {runs[insertion.between].name}"


def compiled_settings(side: Side) -> nodes.Settings:
    """Return what tells a compilation from others of its kernel."""
    config = side.config
    known = {
        "target": side.target.full_name if side.target else None,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "maxnreg": config.maxnreg,
        **(config.options or {}),
        **config.constexprs,
        "Triton": side.triton_version,
    }
    return nodes.settings({name: value for name, value in known.items() if value is not None})


def _overview(passes: Passes) -> Iterator[Node]:
    runs = passes.runs
    printed = Run(f"the compiler printed {rounded_size(passes.bytes)}")
    yield nodes.Headline((*map(Run, passes_verdict(passes)), printed))
    yield changing_passes([run for run in runs if run.changed])
    yield nodes.Sentence(_left_out(runs), "dim")
    if passes.remarks:
        said_too = tuple(text(Run(line)) for line in passes.remarks)
        yield nodes.Section("The compiler said", (nodes.Items(said_too),), key="remarks")


def passes_verdict(passes: Passes) -> list[str]:
    """Return how many passes change something, and what all of them take."""
    runs = passes.runs
    changing = sum(bool(run.changed) for run in runs)
    times = [run.seconds for run in runs if run.seconds is not None]
    total = [f"{_milliseconds(sum(times))} in passes"] if times else []
    return [f"{count(changing)} of {plural(len(runs), 'pass')} change the IR", *total]


def pass_title(run: PassRun) -> str:
    """Return a pass with what it was run with: "31 TritonGPUPipeline {num-stages=4}"."""
    return f"{run.number} {run.name}" + (f" {{{run.options}}}" if run.options else "")


def changing_passes(runs: Sequence[PassRun], *, brief: bool = False) -> nodes.Table:
    """Return a table of passes; a brief one leaves the stage and the lines out."""
    columns = nodes.titled(
        *nodes.numeric("#"), "stage", Column("pass", code=brief), *nodes.numeric("lines", "time")
    )
    kept = (0, 4, 2) if brief else range(len(columns))
    rows = tuple(
        row(*(_cells(run)[at] for at in kept), note=operations(run.came, run.went)) for run in runs
    )
    return nodes.Table(tuple(columns[at] for at in kept), rows, name="passes", noun="pass")


def _cells(run: PassRun) -> tuple[str, ...]:
    name = f"{run.name} @{run.function}" if run.function else run.name
    time = "" if run.seconds is None else _milliseconds(run.seconds)
    return str(run.number), run.stage, name, _lines(run), time


def _lines(run: PassRun) -> str:
    if run.lines_before == run.lines_after:
        return count(run.lines_before)
    return f"{count(run.lines_before)} → {count(run.lines_after or 0)}"


def pass_facts(run: PassRun) -> list[str]:
    """Return a pass in phrases: what it is, its stage, its lines and its time."""
    on = [f"@{run.function}"] if run.function else []
    time = [_milliseconds(run.seconds)] if run.seconds is not None else []
    return [pass_title(run), *on, run.stage, f"{_lines(run)} lines", *time]


def operations(came: Counts, went: Counts) -> str:
    """Return what came and went, the most telling first: "+4 ttg.async_wait, −1 tt.load"."""
    signed = [(name, number, f"+{count(number)} {name}") for name, number in came.items()]
    signed += [(name, number, f"−{count(number)} {name}") for name, number in went.items()]
    if not signed:
        return "the same operations, with other operands, types or attributes"
    signed.sort(key=lambda each: (each[0].startswith(_COMMON), -each[1]))
    telling = [words for _, _, words in signed]
    most = len(telling) if len(telling) <= _MOST_KINDS else _MOST_KINDS - 1
    left = [f"{len(telling) - most} more kinds"] if most < len(telling) else []
    return ", ".join([*telling[:most], *left])


def _left_out(runs: Sequence[PassRun]) -> str:
    same = sum(run.changed is False for run in runs)
    parts = [f"{plural(same, 'pass')} change nothing"]
    unknown = [f"{run.number} {run.name}" for run in runs if run.changed is None]
    has_llvm = any(run.stage == "llvm" for run in runs)
    at_end = 2 if has_llvm else 1  # where nothing is cut
    if len(unknown) > at_end:
        names = ", ".join(unknown[:-at_end][:_MOST_KINDS])
        cut = plural(len(unknown) - at_end, "pass")
        parts.append(f"unknown of {cut} whose IR is cut, such as {names}")
    if unknown and has_llvm:
        names = " and ".join(unknown[-at_end:])
        parts.append(f"unknown of {names}: MLIR prints before a pass, and LLVM after it")
    elif unknown:
        parts.append(f"unknown of the last one, {unknown[-1]}: the compiler prints before a pass")
    if any(run.seconds is None and run.stage not in _OF_LLVM for run in runs):
        parts.append("a pass without a time shares a row of the compiler's report with others")
    return "; ".join(parts)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"


def crossing_words(crossing: Crossing, runs: dict[int, PassRun]) -> str:
    """Return in words which pass brings or removes an operation."""
    name = crossing.operation
    if crossing.number is None and crossing.kind == "first":
        return f"{name} is there before the first pass"
    if crossing.number is None:
        return f"{name} is still there before the last pass"
    run = runs[crossing.number]
    did = "brings the first" if crossing.kind == "first" else "removes the last"
    return f"pass {run.number}, {run.name} ({run.stage}), {did} {name}"


def _line_section(followed: FollowedLine, runs: dict[int, PassRun]) -> nodes.Section:
    """Return a line of Python with its operations after each pass that changed them."""
    rows: list[nodes.Row] = []
    for step in followed.steps:
        name = "before the first pass" if not step.number else runs[step.number].name
        lines: Sequence[str] = step.text
        if len(lines) > _MOST_LINES:
            lines = [operations(step.operations, {})]
        if not lines:
            lines = ["nothing"]
        number = str(step.number or "")
        rows.append(row(number, name, lines[0]))
        rows += [row("", "", line) for line in lines[1:]]
    columns = nodes.titled(*nodes.numeric("#"), "pass", Column("operations", code=True))
    children: list[Node] = [nodes.Table(columns, tuple(rows), name="line", noun="step")]
    if followed.until + 1 < len(runs) and runs[followed.until + 2].stage in _OF_LLVM:
        why_not = "LLVM's passes are not followed: they print no locations"
        children.append(nodes.Sentence(why_not, "dim"))
    elif followed.until + 1 < len(runs):
        after = f"the IR after pass {followed.until} could not be read: not followed further"
        children.append(nodes.Sentence(after, "warn"))
    return nodes.Section(
        f"{followed.source}  {followed.code}", tuple(children), key="line", wide=True
    )


def passes_diff_view(diff: PassesDiff) -> nodes.Section:
    """Return two compilations: the first pass after which they differ, and where it grows."""
    return nodes.Section(diff.after.kernel, tuple(_diff_nodes(diff)), key="passes-diff")


def _diff_nodes(diff: PassesDiff) -> Iterator[Node]:
    names = (diff.before.label, diff.after.label)
    yield nodes.Sentence(f"{names[0]} against {names[1]}")
    yield nodes.Headline(tuple(_diff_verdict(diff)))
    if diff.lines:
        yield nodes.Table(
            nodes.titled("line", *nodes.numeric("lines that differ there"), Column(code=True)),
            tuple(row(str(each.source), count(each.differing), each.code) for each in diff.lines),
            name="lines",
            noun="line",
        )
    yield from _growing(diff.passes, names, "lines that differ", "passes")
    for label, alone in zip(names, (diff.only_before, diff.only_after), strict=True):
        if alone:
            yield nodes.Sentence(
                f"only {label} runs, and they change something: {', '.join(alone)}"
            )
    yield from _growing(diff.llvm, names, "instructions that differ", "llvm")
    yield from _after_passes(diff)
    if diff.code is not None and diff.first is not None:
        at = next(each for each in diff.passes if each.after_number == diff.first)
        yield nodes.CodeDiff(f"after {at.name}", code_summary(diff.code), diff.code, folded=False)


def _growing(
    passes: Sequence[PassDifference], names: tuple[str, str], what: str, name: str
) -> Iterator[Node]:
    """Yield a table of the passes after which two compilations differ more, or less."""
    columns = nodes.titled("pass", *nodes.numeric(f"# {names[0]}", f"# {names[1]}", what, "change"))
    if growing := [each for each in passes if each.grown]:
        yield nodes.Table(columns, tuple(map(_diff_row, growing)), name=name, noun="pass")


_STAGES = {"llir": "LLVM's optimizer", "ptx": "LLVM's code generator",
           "amdgcn": "LLVM's code generator"}  # fmt: skip


def _after_passes(diff: PassesDiff) -> Iterator[Node]:
    """Yield how the stages after MLIR's passes differ, by instructions, and the lines of it."""
    rows = []
    for each in diff.after_passes:
        lines = ", ".join(str(line.source) for line in each.lines[:_MOST_PLACES])
        note = operations(each.came, each.went) if each.differing else ""
        note += f"; at {lines}" if lines else ""
        rows.append(row(each.stage, _STAGES[each.stage], count(each.differing), note=note))
    if rows:
        columns = nodes.titled("then", "made by", *nodes.numeric("lines that differ"))
        yield nodes.Table(columns, tuple(rows), name="stages", noun="stage")


def _diff_verdict(diff: PassesDiff) -> Iterator[Run]:
    if diff.at_start:
        differ = "differs" if diff.at_start == 1 else "differ"
        yield Run(f"{plural(diff.at_start, 'line')} {differ} before the first pass")
    if diff.first is None:
        yield Run("no pass makes more of it" if diff.at_start else "no difference after any pass")
    else:
        at = next(each for each in diff.passes if each.after_number == diff.first)
        numbers = f"pass {at.before_number}"
        if at.before_number != at.after_number:
            numbers = f"passes {at.before_number} and {at.after_number}"
        more = "it grows first" if diff.at_start else "they differ first"
        yield Run(f"{more} after {at.name} ({numbers}): {plural(at.differing, 'line')}")
    yield from _of_llvm(diff)
    before, after = diff.registers
    if before is not None and after is not None:
        yield Run(f"registers {before} → {after}" if before != after else f"registers {before}")


def _of_llvm(diff: PassesDiff) -> Iterator[Run]:
    """Yield the pass of LLVM's after which the instructions of two sides differ most anew."""
    most = max(diff.llvm, key=lambda each: each.grown, default=None)
    if most is None:
        return
    if most.grown <= 0:
        yield Run("LLVM's passes: the same instructions by kind and number")
        return
    yield Run(
        f"of LLVM's passes, {most.name} ({most.before_number} and {most.after_number}) adds most to"
        f" it: {plural(most.grown, 'instruction')}"
    )


def _diff_row(each: PassDifference) -> nodes.Row:
    change = f"{each.grown:+,}".replace("-", "−")
    numbers = str(each.before_number), str(each.after_number)
    return row(each.name, *numbers, count(each.differing), change)
