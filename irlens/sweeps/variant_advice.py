"""Changes of a kernel's declaration that leave fewer variants, each compiled to see its price."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.model.variants import Advice, KernelVariants, Relaxation, Split, Variant
from irlens.sweeps.compiling import stream_requests
from irlens.sweeps.run import plan_grid
from irlens.sweeps.tasks import Result
from irlens.sweeps.workers import WorkerPool

#: Launches that are compiled for each change, those that take longest.
_MOST_LAUNCHES = 8
#: Changes that are tried.
_MOST_CHANGES = 8

_Change: TypeAlias = dict[str, Relaxation]


class _Tried(msgspec.Struct, frozen=True):
    """A change, and the launches that are compiled with it, by the variant's index."""

    change: _Change
    variants: int
    launches: dict[int, Request]


def advise(
    found: KernelVariants,
    requests: Sequence[Request],
    pool: WorkerPool,
    progress: Callable[[int, int], None],
) -> list[Advice]:
    """Return changes that leave fewer variants than were found, the fewest first.

    Args:
        found: The variants.
        requests: The launch of each listed variant.
        pool: The workers.
        progress: Receives how many launches are compiled, of how many.
    """
    advice = [each for split in found.splits for each in _padded(found, split)]
    tried = list(_planned(found, requests, pool))
    numbers = [(index, number) for index, each in enumerate(tried) for number in each.launches]
    chosen = [tried[index].launches[number] for index, number in numbers]
    results: dict[tuple[int, int], Result] = {}
    if chosen:
        source = find_kernel(chosen[0].kernel)
        stream = stream_requests(
            source, chosen, pool, lambda done, running: progress(done, len(chosen))
        )
        results = {numbers[each.number]: each.result for each in stream}
    advice += [
        _priced(found, each, {n: results[index, n] for n in each.launches if (index, n) in results})
        for index, each in enumerate(tried)
    ]
    return sorted(advice, key=lambda each: (bool(each.reason), each.variants))


def _changes(found: KernelVariants) -> Iterator[_Change]:
    """Yield the changes to try."""
    together: _Change = {}
    for split in found.splits:
        if split.kind == "constexpr":
            own = [each.parameter(split.names[0]) for each in found.variants]
            if all(each is not None and type(each.value) is int for each in own):
                yield dict.fromkeys(split.names, "argument")
        elif split.kind == "argument":
            is_pointer = any(value.startswith("*") for value in split.values)
            if not is_pointer:
                yield dict.fromkeys(split.names, "do_not_specialize")
            if is_pointer or len(split.values) > 2:
                yield dict.fromkeys(split.names, "do_not_specialize_on_alignment")
            kind: Relaxation = (
                "do_not_specialize_on_alignment" if is_pointer else "do_not_specialize"
            )
            together |= dict.fromkeys(split.names, kind)
    if sum(split.kind == "argument" for split in found.splits) > 1:
        yield together


def _planned(
    found: KernelVariants, requests: Sequence[Request], pool: WorkerPool
) -> Iterator[_Tried]:
    """Yield the changes that leave fewer variants, as Triton's binder counts them."""
    changes = list(_changes(found))[:_MOST_CHANGES]
    if not changes:
        return
    varied = [msgspec.structs.replace(r, relaxed=change) for change in changes for r in requests]
    planned = plan_grid(varied, pool).variants
    if len(planned) != len(varied):  # of an autotuner whose settings depend on arguments
        return
    for index, change in enumerate(changes):
        own = planned[index * len(requests) : (index + 1) * len(requests)]
        groups: dict[bytes, list[int]] = {}
        for number, each in enumerate(own):
            groups.setdefault(_key(each), []).append(number)
        if len(groups) < len(requests):
            chosen = _longest(found.variants, groups)
            yield _Tried(change, len(groups), {n: own[n].request for n in chosen})


def _key(planned: PlannedVariant) -> bytes:
    return msgspec.msgpack.encode((planned.specialization, sorted(planned.options.items())))


def _longest(variants: Sequence[Variant], groups: Mapping[bytes, list[int]]) -> list[int]:
    """Return the launches to compile: of each variant that is left the longest, then the next."""
    ranked = [
        sorted(numbers, key=lambda number: -(variants[number].time_us or 0.0))
        for numbers in groups.values()
        if len(numbers) > 1
    ]
    rounds = range(max(map(len, ranked), default=0))
    order = [numbers[at] for at in rounds for numbers in ranked if at < len(numbers)]
    return sorted(order[:_MOST_LAUNCHES])


def _priced(found: KernelVariants, tried: _Tried, results: Mapping[int, Result]) -> Advice:
    """Return a change with what it costs the launch that loses most."""
    names, (change, *others) = list(tried.change), dict.fromkeys(tried.change.values())
    kind = "do_not_specialize" if others else change
    failed = next((each for each in results.values() if each.figures is None), None)
    if failed is not None:
        reason = f"does not compile: {failed.reason.partition(chr(10))[0]}"
        return Advice(change=kind, names=names, variants=tried.variants, reason=reason)
    ratios: dict[int, float] = {}
    for number, result in results.items():
        before, after = found.variants[number].time_us, (result.figures or {}).get("time")
        if before and after:
            ratios[number] = after / before
    if not ratios:
        return Advice(
            change=kind, names=names, variants=tried.variants, reason="its time is unknown"
        )
    worst = max(ratios, key=lambda number: ratios[number])
    return Advice(
        change=kind,
        names=names,
        variants=tried.variants,
        time_ratio=ratios[worst],
        launch=found.variants[worst].launch,
    )


def _padded(found: KernelVariants, split: Split) -> Iterator[Advice]:
    """Yield what padding sizes to multiples of 16 leaves: the variants for these."""
    if split.kind != "argument" or any(value.startswith("*") for value in split.values):
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
