"""Changes of a kernel's declaration that leave fewer variants, each compiled to see its price."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from irlens.compiler import Description, Request, find_kernel
from irlens.compiler.sources.index_names import index_names
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError
from irlens.model.several import grouped
from irlens.model.sweep import Result
from irlens.model.variant_times import Merged
from irlens.model.variants import Advice, KernelVariants, Relaxation, Split, Variant
from irlens.sweeps.compiling import specialization_key, stream_requests
from irlens.sweeps.run import plan_grid
from irlens.sweeps.worker_pool import WorkerPool

#: Launches that are compiled for each change, those that take longest.
_MOST_LAUNCHES = 8
#: Changes that are tried.
_MOST_CHANGES = 10

_NAME = re.compile(r"[^\W\d]\w*")
#: What a launch must access with a change as without.
_SAME = ("distinct_read_bytes", "distinct_written_bytes")


class _Change(msgspec.Struct, frozen=True):
    """How parameters are declared, and the constexprs that all launches share."""

    relaxed: dict[str, Relaxation] = {}
    fixed: dict[str, ConstexprValue] = {}

    def applied(self, request: Request) -> Request:
        """Return a launch with the change."""
        settings = request.settings | self.fixed
        return msgspec.structs.replace(request, settings=settings, relaxed=self.relaxed)

    def advice(self, variants: int) -> Advice:
        """Return the change as advice."""
        kinds = {*self.relaxed.values()}
        return Advice(
            change="fix" if not kinds else kinds.pop() if len(kinds) == 1 else "do_not_specialize",
            names=list(self.relaxed or self.fixed),
            fixed=self.fixed,
            variants=variants,
        )


class _Tried(msgspec.Struct, frozen=True):
    """A change, and the launches that are compiled with it, by the variant's index.

    With the variants that become one by it; of launches that are padded there are none, as their
    times are those of other launches.
    """

    advice: Advice
    launches: dict[int, Request]
    groups: Sequence[Sequence[int]] = ()


def advise(
    found: KernelVariants,
    requests: Sequence[Request],
    before: Sequence[Result | None],
    pool: WorkerPool,
    progress: Callable[[int, int], None],
) -> tuple[list[Advice], list[Merged]]:
    """Return changes that leave fewer variants than found, the fewest first, and their times."""
    source = find_kernel(requests[0].kernel)
    sizes = index_names(source) | _described_sizes(source.description)
    padded = [each for split in found.splits for each in _padded(found, split, sizes)]
    tried = [
        *_planned(found, requests, pool),
        *(_Tried(each, _padded_launches(found, each, requests, pool)) for each in padded),
    ]
    numbers = [(index, number) for index, each in enumerate(tried) for number in each.launches]
    chosen = [tried[index].launches[number] for index, number in numbers]
    results: dict[tuple[int, int], Result] = {}
    if chosen:
        stream = stream_requests(
            source, chosen, pool, lambda done, running: progress(done, len(chosen))
        )
        results = {numbers[each.number]: each.result for each in stream}
    advice, merged = [], []
    for index, each in enumerate(tried):
        own = {n: results[index, n] for n in each.launches if (index, n) in results}
        priced, ratios = _priced(found, before, each, own)
        advice.append(priced)
        merged.append(Merged(each.groups, ratios))
    return sorted(advice, key=lambda each: (bool(each.reason), each.variants)), merged


def _changes(found: KernelVariants) -> Iterator[_Change]:
    """Yield the changes to try."""
    relaxed: dict[str, Relaxation] = {}
    fixed: dict[str, ConstexprValue] = {}
    for split in found.splits:
        if split.kind == "constexpr":
            own = [each.parameter(split.names[0]) for each in found.variants]
            values = [each.value for each in own if each is not None and type(each.value) is int]
            if len(values) == len(own):
                yield _Change(dict.fromkeys(split.names, "argument"))
                fixed |= dict.fromkeys(split.names, max(values))
        elif split.kind == "argument":
            is_pointer = any(value.startswith("*") for value in split.values)
            kind: Relaxation = (
                "do_not_specialize_on_alignment" if is_pointer else "do_not_specialize"
            )
            yield _Change(dict.fromkeys(split.names, kind))
            if not is_pointer and len(split.values) > 2:
                yield _Change(dict.fromkeys(split.names, "do_not_specialize_on_alignment"))
            relaxed |= dict.fromkeys(split.names, kind)
    if sum(split.kind == "argument" for split in found.splits) > 1:
        yield _Change(relaxed)
    if fixed:
        yield _Change({}, fixed)
        if relaxed:
            yield _Change(relaxed, fixed)


def _planned(
    found: KernelVariants, requests: Sequence[Request], pool: WorkerPool
) -> Iterator[_Tried]:
    """Yield the changes that leave fewer variants, as Triton's binder counts them."""
    changes = list(_changes(found))[:_MOST_CHANGES]
    if not changes:
        return
    varied = [change.applied(request) for change in changes for request in requests]
    keys = [msgspec.json.encode(each, order="sorted") for each in varied]
    # What differs in a constexpr alone is the same request once it is fixed.
    distinct = dict(zip(keys, varied, strict=True))
    planned = plan_grid(list(distinct.values()), pool).variants
    if len(planned) != len(distinct):  # of an autotuner whose settings depend on arguments
        return
    planned_of = dict(zip(distinct, planned, strict=True))
    for index, change in enumerate(changes):
        own = [planned_of[key] for key in keys[index * len(requests) : (index + 1) * len(requests)]]
        groups = grouped((specialization_key(each), number) for number, each in enumerate(own))
        if len(groups) < len(requests):
            chosen = _longest(found.variants, groups)
            launches = {n: own[n].request for n in chosen}
            yield _Tried(change.advice(len(groups)), launches, list(groups.values()))


def _by_time(variants: Sequence[Variant], numbers: Iterable[int]) -> list[int]:
    """Return launches, the longest first; not what does not fit anyway, or was not compiled."""
    fitting = [n for n in numbers if variants[n].outcome not in (None, "does not fit")]
    return sorted(fitting, key=lambda number: -(variants[number].time_us or 0.0))


def _longest(variants: Sequence[Variant], groups: Mapping[bytes, list[int]]) -> list[int]:
    """Return the launches to compile: of each variant that is left the longest, then the next."""
    ranked = [_by_time(variants, numbers) for numbers in groups.values() if len(numbers) > 1]
    rounds = range(max(map(len, ranked), default=0))
    order = [numbers[at] for at in rounds for numbers in ranked if at < len(numbers)]
    return sorted(order[:_MOST_LAUNCHES])


def _priced(
    found: KernelVariants,
    before: Sequence[Result | None],
    tried: _Tried,
    results: Mapping[int, Result],
) -> tuple[Advice, dict[int, float]]:
    """Return a change with what it costs the launch that loses most, and all of them."""
    advice = tried.advice
    if not results and advice.change == "pad":
        return advice, {}
    ratios: dict[int, float] = {}
    for number, result in results.items():
        old, new = (before[number] or result).figures or {}, result.figures
        if new is None:
            reason = f"does not compile: {result.reason.splitlines()[0] if result.reason else ''}"
            return msgspec.structs.replace(advice, reason=reason), {}
        if advice.fixed and any(old.get(name) != new.get(name) for name in _SAME):
            return msgspec.structs.replace(advice, reason="accesses other bytes"), {}
        time, now = old.get("time"), new.get("time")
        if time and now:
            ratios[number] = now / time
    if not ratios:
        why = next((each.untimed for each in results.values() if each.untimed), "")
        reason = f"its time is unknown{': ' if why else ''}{why}"
        return msgspec.structs.replace(advice, reason=reason), {}
    worst = max(ratios, key=lambda number: ratios[number])
    launch = {
        name: value for name, value in found.variants[worst].launch.items()
        if any(each.launch.get(name) != value for each in found.variants)
    }  # fmt: skip
    return msgspec.structs.replace(advice, time_ratio=ratios[worst], launch=launch), ratios


def _described_sizes(description: Description | None) -> set[str]:
    """Return the arguments that are extents of tensors, or of the grid, by a description."""
    if description is None:
        return set()
    tensors = [text for text in description.args.values() if isinstance(text, str) and "[" in text]
    text = " ".join([*tensors, *map(str, description.grid)])
    extents = {*_NAME.findall(text)}
    return {
        name for name, value in description.args.items()
        if name in extents or (isinstance(value, str) and value in extents)
    }  # fmt: skip


def _padded_launches(
    found: KernelVariants, advice: Advice, requests: Sequence[Request], pool: WorkerPool
) -> dict[int, Request]:
    """Return the launches that padding changes, padded, the longest; none if it does not suffice.

    What follows from a size is padded with it, as far as Triton's binder takes all of them for
    variants that are left.
    """
    padded: dict[int, Request] = {}
    for number, (variant, request) in enumerate(zip(found.variants, requests, strict=True)):
        sizes = {
            name: -(-int(str(value)) // 16) * 16
            for name, value in variant.launch.items()
            if (name in advice.names or variant.parameter(name) is None)  # a size of a description
            and str(value).isdecimal()
            and int(str(value)) % 16
        }
        if sizes:
            args = request.args | {name: str(size) for name, size in sizes.items()}
            padded[number] = msgspec.structs.replace(request, args=args)
    left = [request for number, request in enumerate(requests) if number not in padded]
    distinct = {msgspec.json.encode(r, order="sorted"): r for r in [*left, *padded.values()]}
    try:
        planned = plan_grid(list(distinct.values()), pool).variants
    except IrlensError:  # what a launch of a padded size would need does not exist
        return {}
    if len(planned) != len(distinct):
        return {}
    keys = dict(zip(distinct, map(specialization_key, planned), strict=True))
    kept = {keys[msgspec.json.encode(each, order="sorted")] for each in left}
    if len(kept) != advice.variants or {*keys.values()} != kept:
        return {}
    return {number: padded[number] for number in _by_time(found.variants, padded)[:_MOST_LAUNCHES]}


def _padded(found: KernelVariants, split: Split, sizes: set[str]) -> Iterator[Advice]:
    """Yield what padding sizes to multiples of 16 leaves: the variants for these."""
    if split.kind != "argument" or any(value.startswith("*") for value in split.values):
        return
    if not sizes.issuperset(split.names):
        return
    kept = [
        each for each in found.variants
        if all(
            specialized is None or "divisible by 16" in specialized.properties
            for specialized in map(each.parameter, split.names)
        )
    ]  # fmt: skip
    if kept and len(kept) < len(found.variants):
        yield Advice(change="pad", names=split.names, variants=len(kept))
