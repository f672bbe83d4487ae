"""Variants as nodes: how many are needless, what tells them apart, and each of them."""

from collections.abc import Callable, Iterator, Sequence

from irlens.model.estimate import RESOLUTION
from irlens.model.text import count, microseconds, percent, plural
from irlens.model.variant_times import is_noise
from irlens.model.variants import Advice, KernelVariants, Split, Variant, Variants
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.nodes import Node, Run, row

#: Values of a split that are listed.
_MOST_VALUES = 6
#: Columns of the variants' table for what tells them apart.
_MOST_COLUMNS = 5


def variants_view(variants: Variants, options: Options) -> nodes.Section:
    """Return the variants of kernels, a section each."""
    if len(variants.kernels) == 1:
        (kernel,) = variants.kernels
        children = (*_nodes(kernel, options), *_next(kernel, options))
        return nodes.Section(kernel.kernel, children, key="variants")
    several = [each for each in variants.kernels if each.number > 1]
    sections = tuple(
        nodes.Section(each.kernel, tuple(_nodes(each, options)), key="kernel") for each in several
    )
    single = [_named(each) for each in variants.kernels if each.number == 1]
    one: tuple[Node, ...] = ()
    if single:
        what = plural(len(single), "kernel")
        one = (nodes.Sentence(f"{what} of one variant: {', '.join(single)}.", "dim"),)
    return nodes.Section("Variants", (*sections, *one), key="variants")


def _named(kernel: KernelVariants) -> str:
    target = kernel.target.name if kernel.target is not None else ""
    triton = f"Triton {kernel.triton_version}" if kernel.triton_version else ""
    return f"{kernel.kernel} ({', '.join(filter(None, (target, triton)))})"


def _nodes(kernel: KernelVariants, options: Options) -> Iterator[Node]:
    known = {"target": kernel.target and kernel.target.full_name, "Triton": kernel.triton_version}
    yield nodes.settings({name: value for name, value in known.items() if value})
    yield nodes.Headline(tuple(_verdict(kernel)), "warn" if _needless(kernel) else "neutral")
    if kernel.bounded:
        yield nodes.Sentence(f"There may be more variants: {kernel.bounded}.", "unknown")
    if kernel.splits:
        yield _splits(kernel)
    if kernel.number > 1:
        yield _table(kernel, options)
    elif reason := kernel.variants[0].reason:
        yield nodes.Sentence(reason, "bad")
    if kernel.advice:
        yield _advice(kernel)
    yield from _pair(kernel)
    timed = [each.compile_seconds for each in kernel.variants if each.compile_seconds is not None]
    if timed:
        yield nodes.Sentence(_compiling(timed), "dim")
    if left_out := kernel.number - len(kernel.variants):
        yield nodes.Sentence(f"{plural(left_out, 'variant')} not compiled: --most", "dim")
    if kernel.cut_short:
        yield nodes.Sentence(_cut_short(kernel), "unknown")
    if kernel.candidates:
        yield nodes.Sentence(_candidates(kernel), "dim")


def _verdict(kernel: KernelVariants) -> Iterator[Run]:
    """Yield how many variants there are, and how many machine codes."""
    least = "at least " if kernel.bounded else ""
    among = f" for {plural(kernel.launches, 'launch')}" if kernel.launches else ""
    yield Run(f"{least}{plural(kernel.number, 'variant')}{among}")
    needless, failed = _needless(kernel), sum(each.outcome == "failed" for each in kernel.variants)
    if needless:
        have = "has" if needless == 1 else "have"
        yield Run(f"{count(needless)} {have} the machine code of another: needless", "warn")
    elif kernel.number > 1 and kernel.codes == kernel.number:
        yield Run("no two have the same machine code")
    yield from _worth(kernel)
    if failed:
        yield Run(f"{count(failed)} {'does' if failed == 1 else 'do'} not compile", "bad")
    given_up = [each.reason for each in kernel.variants if each.outcome is None and each.reason]
    if given_up:
        yield Run(f"{count(len(given_up))} not compiled: {given_up[0]}", "unknown")
    if kernel.cut_short:
        compiled = sum(each.outcome is not None for each in kernel.variants)
        yield Run(f"{count(compiled)} compiled in the time", "unknown")
    yield from _best(kernel)


def _worth(kernel: KernelVariants) -> Iterator[Run]:
    """Yield how many variants of other code differ in nothing that takes time, and which do."""
    own = [
        (number, each) for number, each in enumerate(kernel.variants, 1)
        if each.code in (None, number) and each.time_ratio is not None
    ]  # fmt: skip
    alike = [number for number, each in own if each.as_fast_as not in (None, number)]
    saving = [number for number, each in own if (each.time_ratio or 0.0) > 1 + RESOLUTION]
    costing = [number for number, each in own if (each.time_ratio or 1.0) * (1 + RESOLUTION) < 1]
    if alike:
        differ = "differs" if len(alike) == 1 else "differ"
        what = "only in what does not matter to time at the listed launches"
        yield Run(f"{count(len(alike))} {differ} {what}", "warn")
    if saving:
        yield Run(f"{count(len(saving))} {'saves' if len(saving) == 1 else 'save'} time")
    if costing:
        yield Run(f"{count(len(costing))} {'costs' if len(costing) == 1 else 'cost'} time", "warn")


def _time(number: int, variant: Variant) -> str:
    return "" if variant.time_us is None else microseconds(variant.time_us)


def _against(number: int, variant: Variant) -> str:
    """Return what a variant's code is worth: "as fast as the code of 1", "10 % less time"."""
    ratio = variant.time_ratio
    if ratio is None:
        return "?"
    if is_noise(ratio):
        other = variant.as_fast_as not in (None, number)
        return f"as fast as the code of {variant.as_fast_as}" if other else "as fast"
    change = 1 / ratio - 1
    return f"{percent(round(abs(change), 3))} {'more' if change > 0 else 'less'} time"


def _best(kernel: KernelVariants) -> Iterator[Run]:
    """Yield the change that leaves the fewest variants at no price, or else at any."""
    known = [each for each in kernel.advice if each.time_ratio is not None]
    free = [each for each in known if (each.time_ratio or 0.0) <= 1 + RESOLUTION]
    for each in (free or known)[:1]:
        price = _price(each)
        yield Run(f"{_change(each)} leaves {each.variants}: {price}", "good" if free else "neutral")


def _compiling(seconds: list[float]) -> str:
    longest, total = max(seconds), sum(seconds)
    each = f", {longest:.2f} s the longest" if len(seconds) > 1 else ""
    return f"compiling {plural(len(seconds), 'variant')} took {total:.2f} s here{each}"


def _candidates(kernel: KernelVariants) -> str:
    """Return what an autotuner only tried."""
    if not kernel.launches:
        return "No launch used these: an autotuner only tried them."
    only = plural(kernel.candidates, "candidate")
    return f"not counted: {only} that an autotuner only tried"


def _cut_short(kernel: KernelVariants) -> str:
    """Return what was not compiled when the time ended, and what compiles it."""
    missing = sum(each.outcome is None and not each.reason for each in kernel.variants)
    if missing:
        what = f"{count(missing)} of {plural(len(kernel.variants), 'variant')}"
    else:
        what = "all variants were compiled, the changes that would leave fewer"
    return f"Time ended: {what} not compiled. A longer --budget, or smaller ranges, compile them."


def _needless(kernel: KernelVariants) -> int:
    """Return the number of listed variants whose machine code an earlier one has."""
    known = enumerate(kernel.variants, 1)
    return sum(each.code is not None and each.code != number for number, each in known)


def _splits(kernel: KernelVariants) -> nodes.Table:
    columns = nodes.titled("tells apart", "is", "compiled for", *nodes.numeric("without it"))
    # What is not specialized alone, and leaves as many, is no advice.
    alone = [each for each in kernel.splits if each.without < kernel.number]
    rows = [
        row(
            ", ".join(each.names),
            each.kind,
            _values(each),
            f"{kernel.number} → {each.without}" if alone else "as many",
        )
        for each in alone or kernel.splits
    ]
    return nodes.Table(columns, tuple(rows), "what tells variants apart")


def _values(split: Split) -> str:
    shown = [each.replace(", divisible by 16", " ÷ 16") for each in split.values[:_MOST_VALUES]]
    left_out = len(split.values) - len(shown)
    return " | ".join([*shown, f"{left_out} more"] if left_out else shown)


def _table(kernel: KernelVariants, options: Options) -> nodes.Table:
    shown = kernel.splits[:_MOST_COLUMNS]
    titles = [_title(each) for each in shown]
    optional: dict[str, Callable[[int, Variant], str]] = {}
    if any(each.time_us is not None for each in kernel.variants):
        optional["time"] = _time
    if any(each.time_ratio is not None for each in kernel.variants):
        optional["against others"] = _against
    launches = [each.launch for each in kernel.variants]
    varying = [name for name, value in launches[0].items()
               if any(each.get(name) != value for each in launches)]  # fmt: skip
    columns = [
        nodes.Column("", numbers=True),
        nodes.Column("entry" if kernel.variants[0].entry else "launch"),
        *(nodes.Column(title) for title in titles),
        nodes.Column("registers", numbers=True),
        *(nodes.Column(title, numbers=title == "time") for title in optional),
        nodes.Column("code"),
    ]
    numbered = enumerate(kernel.variants, 1)
    rows = tuple(
        _row(number, each, shown, varying, [cell(number, each) for cell in optional.values()])
        for number, each in numbered
    )
    return nodes.Table(tuple(columns), rows, "variants", shown=options.rows, noun="variant")


def _title(split: Split) -> str:
    more = f" +{len(split.names) - 1}" if len(split.names) > 1 else ""
    return f"{split.names[0]}{more}"


def _row(
    number: int,
    variant: Variant,
    splits: list[Split],
    varying: list[str],
    optional: list[str],
) -> nodes.Row:
    launch = variant.entry or ", ".join(f"{name}={variant.launch.get(name)}" for name in varying)
    needless = variant.code not in (None, number)
    code = (
        "unknown" if variant.code is None else f"code of {variant.code}" if needless else "own code"
    )
    if variant.outcome not in (None, "fits"):
        code = variant.outcome or ""
    elif variant.outcome is None and not variant.entry:
        code = "not compiled"
    return row(
        str(number),
        launch,
        *(variant.described(each).replace(", divisible by 16", " ÷ 16") for each in splits),
        "?" if variant.registers is None else str(variant.registers),
        *optional,
        Run(code, "warn" if needless else "neutral"),
        note=variant.reason,
    )


def _advice(kernel: KernelVariants) -> nodes.Table:
    columns = nodes.titled("change", *nodes.numeric("leaves"), "time of the worst launch")
    rows = [
        row(
            _change(each),
            plural(each.variants, "variant"),
            _priced(each),
            tone="dim" if each.reason else "neutral",
        )
        for each in kernel.advice
    ]
    return nodes.Table(columns, tuple(rows), "what would leave fewer")


def _change(advice: Advice) -> str:
    """Return what to write: ``do_not_specialize=["n"]``."""
    names = ", ".join(advice.names)
    fixed = [f"{name}={value} for all" for name, value in advice.fixed.items()]
    if advice.change == "pad":
        return f"pad {names} to multiples of 16"
    if advice.change == "argument":
        return f"{names} without tl.constexpr"
    quoted = ", ".join(f'"{name}"' for name in advice.names)
    declared = [] if advice.change == "fix" else [f"{advice.change}=[{quoted}]"]
    return ", ".join([*declared, *fixed])


def _priced(advice: Advice) -> str:
    is_tried = advice.change != "pad" or advice.time_ratio is not None or advice.reason
    return advice.reason or (_price(advice) if is_tried else "not tried")


def _price(advice: Advice) -> str:
    """Return the change in time: "as fast", "12 % more at n=4096"."""
    if advice.time_ratio is None:
        return "unknown"
    if abs(advice.time_ratio - 1) <= RESOLUTION:
        return "as fast"
    launch = ", ".join(f"{name}={value}" for name, value in advice.launch.items())
    word = "more" if advice.time_ratio > 1 else "less"
    return f"{percent(round(abs(advice.time_ratio - 1), 3))} {word} at {launch}"


def _pair(kernel: KernelVariants) -> Iterator[nodes.Sentence]:
    """Yield why two variants are two."""
    if kernel.number != 2:
        return
    one, other = kernel.variants[:2]
    if kernel.splits:
        differing = " and ".join(name for split in kernel.splits for name in split.names)
        first, second = (_compiled_for(each, kernel.splits) for each in (one, other))
        yield nodes.Sentence(f"Variant 1 ({first}) and variant 2 ({second}) differ in {differing}.")
    elif one.code == other.code is not None:
        yield nodes.Sentence("Nothing tells variants 1 and 2 apart: their code is the same.")
    else:
        also = "constexprs, " if kernel.unrecorded else ""
        yield nodes.Sentence(
            f"Nothing recorded tells variants 1 and 2 apart. What is not: {also}the kernel's "
            "source and what it calls.",
            "unknown",
        )


def _compiled_for(variant: Variant, splits: Sequence[Split]) -> str:
    """Return "num_warps = 4; n: i32 divisible by 16"."""
    written = []
    for split in splits:
        held = None if split.kind == "option" else variant.parameter(split.names[0])
        is_value = split.kind == "option" or (
            held is not None and held.type is None and not held.unknown
        )
        text = variant.described(split).replace(", divisible", " divisible")
        written.append(f"{' and '.join(split.names)}{' = ' if is_value else ': '}{text}")
    return "; ".join(written)


def _next(kernel: KernelVariants, options: Options) -> Iterator[nodes.NextSteps]:
    """Yield the command that varies another argument, if one variant was all, and compiled."""
    if not options.subject or kernel.number > 1 or kernel.variants[0].outcome == "failed":
        return
    if varied := suggested_range(kernel):
        command = f"irlens variants {options.subject} --arg {varied}"
        yield nodes.NextSteps((nodes.Command(command, "what a range of sizes needs"),))


def suggested_range(kernel: KernelVariants) -> str:
    """Return an argument that has not varied with a range, as ``--arg`` takes it, or ""."""
    first = kernel.variants[0]
    numbers = [
        each.name for each in first.specialization
        if not each.constexpr and each.type in (None, "i32", "i64")
        and each.name not in first.launch  # irlens refuses an argument that is given twice
    ]  # fmt: skip
    return f"{numbers[-1]}=1..131072" if numbers and not first.entry else ""
