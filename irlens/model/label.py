"""Labels: the settings in which reports shown together differ."""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Protocol

from irlens.model.config import Config, Target

#: Formats of facts that are not written as "name=value".
_FORMATS = {"target": "{}", "product": "{}", "triton": "Triton {}"}


class Labelled(Protocol):
    """Anything with a label: a report, or a side of a comparison."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def target(self) -> Target | None:
        """Its target; ``None`` if unknown."""

    @property
    def triton_version(self) -> str | None:
        """The compiler's version; ``None`` if unknown."""

    @property
    def config(self) -> Config:
        """Its compile and launch parameters."""


def labels(reports: Sequence[Labelled]) -> list[str]:
    """Return how each report differs from the others: "sm_80 num_stages=3"; "" if it does not.

    Kernels have their own arguments and constexprs, so only reports of one kernel are compared.
    """
    kernels: dict[str, list[dict[str, object]]] = {}
    chosen = {name for report in reports for name in report.config.options or ()}
    facts = [_facts(report, chosen) for report in reports]
    for report, each in zip(reports, facts, strict=True):
        kernels.setdefault(report.kernel, []).append(each)
    differing = {kernel: _differing(like) for kernel, like in kernels.items()}
    return [
        " ".join(
            [
                *([report.kernel] if len(kernels) > 1 else []),
                *(_written(name, each) for name in differing[report.kernel] if name in each),
            ]
        )
        for report, each in zip(reports, facts, strict=True)
    ]


def differing(reports: Sequence[Labelled]) -> dict[str, list[str]]:
    """Return the settings in which reports of one kernel differ: the values of each, by name."""
    chosen = {name for report in reports for name in report.config.options or ()}
    facts = [_facts(report, chosen) for report in reports]
    return {
        name: ["" if name not in each else str(each[name]) for each in facts]
        for name in _differing(facts)
    }


def labels_among(reports: Sequence[Labelled], key: Callable[[Labelled], Hashable]) -> list[str]:
    """Return how each report differs from the others of the same key."""
    alike: dict[Hashable, list[int]] = {}
    for index, report in enumerate(reports):
        alike.setdefault(key(report), []).append(index)
    by_index: dict[int, str] = {}
    for indices in alike.values():
        by_index |= zip(indices, labels([reports[index] for index in indices]), strict=True)
    return [by_index[index] for index in range(len(reports))]


def _differing(facts: Sequence[dict[str, object]]) -> list[str]:
    """The names of the facts that differ."""
    names = dict.fromkeys(name for each in facts for name in each)
    kinds = {name: len({repr(each.get(name)) for each in facts}) for name in names}
    if kinds["target"] > 1:  # products matter only where one architecture has several
        del kinds["product" if kinds["product"] == kinds["target"] else "target"]
    return [name for name, number in kinds.items() if number > 1]


def _written(name: str, facts: dict[str, object]) -> str:
    return _FORMATS[name].format(facts[name]) if name in _FORMATS else f"{name}={facts[name]}"


def _facts(report: Labelled, chosen: Collection[str]) -> dict[str, object]:
    """Return the settings of a report by name.

    Args:
        report: The report.
        chosen: Options that some report changes; one that leaves them alone has the default.
    """
    config, target = report.config, report.target
    options = config.options
    compiler = {
        "triton": report.triton_version,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas,
    }
    return {
        "target": target.arch if target else "unknown",
        "product": target.name if target else "unknown",
        # A single artifact does not say these.
        **{name: value for name, value in compiler.items() if value is not None},
        "maxnreg": config.maxnreg,
        **({} if options is None else {n: options.get(n, "default") for n in sorted(chosen)}),
        **config.args,
        **config.constexprs,
    }
