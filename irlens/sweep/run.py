"""A sweep from its requests to its records."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from irlens import gpus as arch
from irlens.compiler import KernelSource, Request, find_kernel
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.compiler.toolchains.versions import version_of
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError
from irlens.model.sweep import SWEEP_SCHEMA, Sweep, Trial
from irlens.sweep.constraints import (
    FIGURE_NAMES,
    STATIC_FIGURES,
    allows,
    check,
    passes,
    target_facts,
)
from irlens.sweep.crew import Crew, Death, answers
from irlens.sweep.found import Found, from_error
from irlens.sweep.journal import Journal
from irlens.sweep.measuring import Tell
from irlens.sweep.order import DEFAULT_ORDER, check_keys, labels, ordered
from irlens.sweep.ranks import correlations
from irlens.sweep.work import Done, Planned, make_plan, order, read, try_out


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants of a sweep beside its configurations.

    Attributes:
        where: Constraints on what is compiled.
        filters: Constraints on results.
        sort: Names of figures, a minus before those of which the largest comes first.
    """

    where: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()


class Tried(msgspec.Struct, frozen=True):
    """What a sweep found, before anything is left out of it.

    Attributes:
        kernel: The kernel function's name.
        trials: Every result, in the order asked for.
        excluded: Configurations that the constraints left out.
        journal: Where they are written down, for times to be added. It is the caller's to close,
            and to forget when nothing more is to come.
    """

    kernel: str
    trials: list[Trial]
    excluded: int
    journal: Journal


def try_all(
    requests: Sequence[Request], crew: Crew, wishes: Wishes, tell: Tell = lambda *_: None
) -> Tried:
    """Compile every configuration that the requests ask for, and look at each.

    Args:
        requests: At least one; all of one kernel.
        crew: Who does it.
        wishes: What to leave out. Those that come later are checked now.
        tell: Is told how many are done, those of an interrupted run included, of how many.

    Raises:
        UnknownNameError: A kernel, constexpr, argument, figure or name in a constraint does not
            exist.
        IrlensError: The kernel cannot be loaded, no configuration meets ``where``, or the workers
            can compile none at all.
        KeyboardInterrupt: What was done until then is kept for the same sweep.
    """
    check_keys(wishes.sort)
    source = find_kernel(requests[0].kernel)
    plan = _plan(source, requests, crew)
    request = plan.variants[0].request
    check(wishes.filters, {*request.settings, *request.args, *FIGURE_NAMES}, "--filter")
    variants = [each for each in plan.variants if allows(wishes.where, _names(each), "--where")]
    if not variants:
        raise IrlensError(
            f"--where leaves none of the {len(plan.variants)} configurations",
            hint="; ".join(wishes.where),
        )
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(plan, variants))
        found = _find(source, variants, crew, journal, tell)
        stack.pop_all()  # it stays open for the caller
    return Tried(
        kernel=plan.function,
        trials=_trials(variants, found),
        excluded=len(plan.variants) - len(variants),
        journal=journal,
    )


def assemble(tried: Tried, wishes: Wishes, device: str | None = None) -> Sweep:
    """Return what is to be shown, in its order.

    Args:
        tried: What was found.
        wishes: What to leave out, and the order.
        device: The GPU that times were taken on, if they were.
    """
    targets = list(dict.fromkeys(trial.target for trial in tried.trials))
    kept = [trial for trial in tried.trials if passes(trial, wishes.filters)]
    return Sweep(
        schema=SWEEP_SCHEMA,
        kernel=tried.kernel,
        targets=targets,
        where=list(wishes.where),
        filters=list(wishes.filters),
        trials=ordered(kept, targets, wishes.sort or DEFAULT_ORDER),
        excluded=tried.excluded,
        filtered=len(tried.trials) - len(kept),
        device=device,
        correlations=correlations(tried.trials, STATIC_FIGURES) if device is not None else [],
    )


def _plan(source: KernelSource, requests: Sequence[Request], crew: Crew) -> Plan:
    ((_, answer),) = answers(crew, make_plan, [order(source, requests)])
    if isinstance(answer, Death):
        raise IrlensError(
            f"the kernel's file takes the process down: {answer.reason}",
            hint=answer.last_words or None,
        )
    return read(answer, Planned).plan


def _find(
    source: KernelSource,
    variants: Sequence[PlannedVariant],
    crew: Crew,
    journal: Journal,
    tell: Tell,
) -> dict[int, Found]:
    """Return what became of each variant, by its number."""
    found = journal.found()
    tell(len(found), len(variants))
    left = [number for number in range(len(variants)) if number not in found]
    orders = [order(source, [variants[number].request]) for number in left]
    troubles: list[IrlensError] = []
    for index, answer in answers(crew, try_out, orders):
        number = left[index]
        if isinstance(answer, Death):
            found[number] = Found(outcome="died", reason=answer.reason, hint=answer.last_words)
        else:
            try:
                found[number] = read(answer, Done).found
                journal.note(number, found[number])
            except IrlensError as error:
                troubles.append(error)
                found[number] = from_error(error)
        tell(len(found), len(variants))
    if len(troubles) == len(variants):
        raise troubles[0]  # what all have in common is not the configuration's
    return found


def _trials(variants: Sequence[PlannedVariant], found: dict[int, Found]) -> list[Trial]:
    requests = [each.request for each in variants]
    named = labels([{**request.settings, **request.args} for request in requests])
    tritons = _tritons(variants)
    return [
        Trial(
            label=" ".join(filter(None, (triton and f"Triton {triton}", label))),
            target=each.request.target,
            settings=each.request.settings,
            args=each.request.args,
            triton_version=version_of(each.triton),
            triton=triton,
            **msgspec.structs.asdict(found[number]),
        )
        for number, (each, label, triton) in enumerate(zip(variants, named, tritons, strict=True))
    ]


def _tritons(variants: Sequence[PlannedVariant]) -> list[str | None]:
    """Return what each variant's Triton is called beside the others; ``None`` if there is one."""
    identities = {each.triton for each in variants}
    if len(identities) == 1:
        return [None] * len(variants)
    versions = Counter(map(version_of, identities))
    return [
        version if versions[version := version_of(each.triton)] == 1 else each.request.triton
        for each in variants
    ]


def _names(variant: PlannedVariant) -> dict[str, ConstexprValue]:
    """What ``--where`` may use."""
    target = variant.request.target
    gpu = arch.find(target.product) if target.product else arch.by_arch(target.arch)
    return {**target_facts(gpu), **variant.names}
