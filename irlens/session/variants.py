"""Variants: from what the user named to the record of what tells its compilations apart."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.analyze.specialization import Compiled, specialization_of
from irlens.artifacts.identify import code_digest
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.config import LAUNCH_OPTIONS, Values
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.variant_times import compared
from irlens.model.variants import (
    VARIANTS_SCHEMA,
    KernelVariants,
    Specialized,
    Variant,
    Variants,
    same_code,
    splits_of,
)
from irlens.session import Configurations, is_compiled
from irlens.session.grids import require_one_kernel
from irlens.session.programs import launches_of, recorded_launches
from irlens.session.session import Session
from irlens.session.values import read_values

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

#: Variants to compile at most, unless asked otherwise.
MOST = 64
#: Time to compile in, unless asked otherwise.
SECONDS = 60.0


def variants_of(
    session: Session,
    kernels: Sequence[str],
    configurations: Configurations,
    *,
    most: int = MOST,
    seconds: float = SECONDS,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Variants:
    """Return the variants of a kernel that launches need, or those that caches hold.

    Args:
        kernels: A kernel, whose variants are compiled; or captures, recordings and caches.
        configurations: What to compile; the arguments as ``read_values`` takes them. Those of a
            capture, whose source must be known, replace the recorded ones.
        most: Variants of each GPU to compile at most.
        seconds: Time to compile in, of all GPUs together.
        jobs: Worker processes; as many as there are processors if not given.

    Raises:
        IrlensError: A kernel cannot be loaded, a launch is invalid, or nothing can be read.
    """
    axes = {name: read_values(values) for name, values in configurations.args}
    configurations = msgspec.structs.replace(configurations, args=())
    if all(is_compiled(kernel) for kernel in kernels) and not axes:
        recorded = _recorded(session, kernels, configurations)
        kernels_found = _readable(recorded, lambda problem: session.note_once([problem]))
        return Variants(schema=VARIANTS_SCHEMA, kernels=kernels_found)
    if len(kernels) > 1:
        raise IrlensError("the variants of one kernel at a time", hint=f"name {kernels[0]} alone")
    requests = list(session.requests(kernels[0], configurations))
    require_one_kernel(kernels[0], requests)
    return variants_of_requests(
        session, requests, axes, most=most, seconds=seconds, jobs=jobs, progress=progress
    )


def variants_of_requests(
    session: Session,
    requests: "Sequence[Request]",
    axes: Mapping[str, Values],
    *,
    most: int = MOST,
    seconds: float = SECONDS,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Variants:
    """Return the variants that launches of one kernel need; see ``variants_of``.

    Args:
        requests: What does not vary.
        axes: Values of each argument or size that varies.
    """
    from irlens.sweeps.variants import find_variants

    with session.workers(requests, jobs) as pool:
        found = find_variants(requests, axes, pool, most=most, seconds=seconds, progress=progress)
    return Variants(schema=VARIANTS_SCHEMA, kernels=found)


def variants_of_captures(captures: Sequence[Capture]) -> Variants:
    """Return the variants among captures.

    Raises:
        ArtifactError: All of them are broken.
    """
    found = _readable([Recorded(each) for each in captures], lambda _: None)
    return Variants(schema=VARIANTS_SCHEMA, kernels=found)


def _readable(
    recorded: Sequence["Recorded"], skipped: Callable[[str], None]
) -> list[KernelVariants]:
    """Return the variants among captures, but for broken ones if there are others."""
    readable = []
    for each in recorded:
        try:
            compiled_variants([each])
        except ArtifactError as error:
            name = each.capture.directory or each.capture.kernel
            if len(recorded) == 1:
                raise ArtifactError(f"{name}: {error.message}", hint=error.hint) from error
            skipped(f"skipped {name}: {error.message}")
        else:
            readable.append(each)
    if not readable:
        raise ArtifactError("no capture can be read: all are broken")
    return compiled_variants(readable, most_timed=MOST)


class Recorded(msgspec.Struct, frozen=True):
    """A capture, and the number of its launches in a recording, if it is of one.

    A configuration that an autotuner only tried has none.
    """

    capture: Capture
    launches: int | None = None


def _recorded(
    session: Session, kernels: Sequence[str], configurations: Configurations
) -> list[Recorded]:
    captures = [each for name in kernels for each in session.captures(name, configurations)]
    return [Recorded(*each) for each in zip(captures, launches_of(captures), strict=True)]


def recompiled(directory: Path) -> list[KernelVariants]:
    """Return the kernels of a recording that the program launched in several variants.

    Raises:
        ArtifactError: The index of the recording, or a stage, is broken.
    """
    launches = recorded_launches(directory)
    captures = [each for each in load(directory) if isinstance(each, Capture)]
    found = [
        Recorded(each, number)
        for each in captures
        if each.directory is not None and (number := launches.get(each.directory.name))
    ]
    return [each for each in compiled_variants(found) if each.number > 1]


def compiled_variants(recorded: Sequence[Recorded], *, most_timed: int = 0) -> list[KernelVariants]:
    """Return the variants among captures by kernel, those with the most variants first.

    Args:
        most_timed: Of how many variants at most the times are compared.

    Raises:
        ArtifactError: A stage is broken or gone.
    """
    groups: dict[tuple[object, ...], list[tuple[Recorded, Compiled | None]]] = {}
    for each in recorded:
        capture = each.capture
        compiled = specialization_of(capture)
        place = compiled.place if compiled is not None else None
        key = capture.kernel, place, capture.target, capture.triton_version
        groups.setdefault(key, []).append((each, compiled))
    found = [_group(each, most_timed) for each in groups.values()]
    return sorted(found, key=lambda each: -each.number)


def _group(compiled: Sequence[tuple[Recorded, Compiled | None]], most_timed: int) -> KernelVariants:
    launched = [each for each in compiled if each[0].launches != 0]
    candidates = len(compiled) - len(launched)
    compiled = launched or compiled
    codes = same_code([_digest(each.capture) for each, _ in compiled])
    variants = _aligned([_variant(*each, code) for each, code in zip(compiled, codes, strict=True)])
    if 1 < len(variants) <= most_timed:
        variants = _timed(variants, [each.capture for each, _ in compiled])
    first = compiled[0][0].capture
    launches = [each.launches for each in variants if each.launches is not None]
    return KernelVariants(
        kernel=first.kernel,
        target=first.target,
        triton_version=first.triton_version,
        variants=variants,
        splits=splits_of(variants),
        number=len(variants),
        launches=sum(launches) if launches else None,
        candidates=candidates,
        unrecorded=not all(each is not None and each.is_whole for _, each in compiled),
    )


def _timed(variants: Sequence[Variant], captures: Sequence[Capture]) -> list[Variant]:
    """Return variants with their times, and those of the same problem compared."""
    from irlens.model.ranking import rank_reports
    from irlens.session.reports import report_of

    try:
        ranking = rank_reports([report_of(each) for each in captures])
    except IrlensError:  # a stage is broken that nothing else needs
        return list(variants)
    times = [standing.time_us for standing in ranking.standings]
    told = [msgspec.structs.replace(v, time_us=t) for v, t in zip(variants, times, strict=True)]
    return compared(told, [], ranking)


def _digest(capture: Capture) -> str | None:
    try:
        return code_digest(capture)
    except ArtifactError:
        return None


def _variant(recorded: Recorded, compiled: Compiled | None, code: int | None) -> Variant:
    from irlens.report.inspection import Inspection

    capture = recorded.capture
    config = capture.config
    options = {name: getattr(config, name) for name in LAUNCH_OPTIONS} | (config.options or {})
    return Variant(
        specialization=compiled.parameters if compiled is not None else [],
        options={name: value for name, value in options.items() if value is not None},
        entry=capture.directory.name if capture.directory is not None else "",
        registers=Inspection(capture).resources.registers,
        launches=recorded.launches,
        code=code,
    )


def _aligned(variants: Sequence[Variant]) -> list[Variant]:
    """Return variants that all have the same parameters: what one lacks is compiled in."""
    names = dict.fromkeys(each.name for variant in variants for each in variant.specialization)
    aligned = []
    for variant in variants:
        own = {each.name: each for each in variant.specialization}
        specialization = [own.get(name, Specialized(name=name, unknown=True)) for name in names]
        aligned.append(msgspec.structs.replace(variant, specialization=specialization))
    return aligned
