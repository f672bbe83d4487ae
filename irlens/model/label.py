"""Labels: the settings in which reports shown together differ."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from irlens.model.config import Config, ConstexprValue, Target
from irlens.model.several import grouped

#: Formats of facts that are not written as "name=value".
_FORMATS = {"target": "{}", "product": "{}", "triton": "Triton {}"}


class Matchable(Protocol):
    """What was compiled, of which kernel and for what: a report or a capture."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def target(self) -> Target | None:
        """Its target; ``None`` if unknown."""

    @property
    def config(self) -> Config:
        """Its compile and launch parameters."""


class Labelled(Matchable, Protocol):
    """Anything with a label: a report, or a side of a comparison."""

    @property
    def triton_version(self) -> str | None:
        """The compiler's version; ``None`` if unknown."""


def labels(reports: Sequence[Labelled]) -> list[str]:
    """Return how each report differs from the others: "sm_80 num_stages=3"; "" if it does not.

    Kernels have their own arguments and constexprs, so only reports of one kernel are compared.
    """
    chosen = {name for report in reports for name in _options(report)}
    facts = [_facts(report, chosen) for report in reports]
    kernels = grouped(zip((each.kernel for each in reports), facts, strict=True))
    differing = {kernel: _differing(_values(like)) for kernel, like in kernels.items()}
    return [
        " ".join(
            [
                *([report.kernel] if len(kernels) > 1 else []),
                *(_written(name, each) for name in differing[report.kernel] if name in each),
            ]
        )
        for report, each in zip(reports, facts, strict=True)
    ]


def setting_labels(values: Sequence[dict[str, ConstexprValue]]) -> list[str]:
    """Return what tells each configuration apart: "num_warps=4 BLOCK=64"; "" if nothing does."""
    names = dict.fromkeys(name for each in values for name in each)
    differing = [name for name in names if len({repr(each.get(name)) for each in values}) > 1]
    return [
        " ".join(f"{name}={each[name]}" for name in differing if name in each) for each in values
    ]


class GrowingLabels:
    """The labels of reports of one kernel that arrive over time: always those of ``labels``."""

    def __init__(self) -> None:
        self._reports: dict[str, Labelled] = {}
        self._chosen: set[str] = set()
        self._facts: dict[str, dict[str, object]] = {}
        self._values: dict[str, set[str]] = {}
        self._differing: list[str] = []

    def update(self, reports: Mapping[str, Labelled | None]) -> Collection[str]:
        """Add reports, replace known ones, or remove them; return whose labels may have changed.

        Args:
            reports: The reports by key; ``None`` removes one.
        """
        gone = [key for key, each in reports.items() if each is None and key in self._reports]
        for key in gone:
            del self._reports[key]
        chosen = self._chosen
        given = {key: each for key, each in reports.items() if each is not None}
        facts = {key: _facts(report, chosen) for key, report in given.items()}
        arrived = {
            key: report
            for key, report in given.items()
            if self._facts.get(key) != facts[key] or not _is_chosen(report, chosen)
        }
        replaces = not arrived.keys().isdisjoint(self._reports)
        self._reports |= arrived
        if gone or replaces or not all(_is_chosen(each, chosen) for each in arrived.values()):
            # Facts of other reports change with the options that any of them chooses.
            self._chosen = {name for each in self._reports.values() for name in _options(each)}
            self._facts, self._values = {}, {}
            arrived = dict(self._reports)
            facts = {key: _facts(each, self._chosen) for key, each in arrived.items()}
        for key in arrived:
            self._count(facts[key])
            self._facts[key] = facts[key]
        before, self._differing = self._differing, _differing(self._values)
        return list(arrived if before == self._differing else self._facts)

    def keys(self) -> Collection[str]:
        """Return the keys of the reports."""
        return self._reports.keys()

    def label(self, key: str) -> str:
        """Return how a report differs from the others; "" if it does not."""
        facts = self._facts[key]
        return " ".join(_written(name, facts) for name in self._differing if name in facts)

    def _count(self, facts: dict[str, object]) -> None:
        """Add the values of a report, which may lack what others have, and the other way round."""
        for name, value in facts.items():
            values = self._values.get(name)
            if values is None:
                values = self._values[name] = {repr(None)} if self._facts else set()
            values.add(repr(value))
        if len(facts) < len(self._values):
            for name in self._values.keys() - facts:
                self._values[name].add(repr(None))


def differing(reports: Sequence[Labelled]) -> dict[str, list[str]]:
    """Return the settings in which reports of one kernel differ: the values of each, by name."""
    chosen = {name for report in reports for name in _options(report)}
    facts = [_facts(report, chosen) for report in reports]
    return {
        name: ["" if name not in each else str(each[name]) for each in facts]
        for name in _differing(_values(facts))
    }


def common_label(reports: Sequence[Labelled], members: Collection[int]) -> str:
    """Return the setting, or the two, that some reports of one kernel share and no others do.

    Empty if there is none: "num_warps=8", "sm_80 BLOCK=64".

    Args:
        members: Their indices.
    """
    wanted = frozenset(members)
    having = {
        (name, value): {n for n, each in enumerate(values) if each == value}
        for name, values in differing(reports).items()
        for value in {*(values[n] for n in wanted)}
        if value
    }
    around = [key for key, those in having.items() if those >= wanted]
    for chosen in (*combinations(around, 1), *combinations(around, 2)):
        if set.intersection(*(having[key] for key in chosen)) == wanted:
            return " ".join(_written(name, {name: value}) for name, value in chosen)
    return ""


def labels_among(reports: Sequence[Labelled], key: Callable[[Labelled], Hashable]) -> list[str]:
    """Return how each report differs from the others of the same key."""
    alike = grouped((key(report), index) for index, report in enumerate(reports))
    by_index: dict[int, str] = {}
    for indices in alike.values():
        by_index |= zip(indices, labels([reports[index] for index in indices]), strict=True)
    return [by_index[index] for index in range(len(reports))]


def _options(report: Labelled) -> Iterable[str]:
    """The options that a report changes."""
    return report.config.options or ()


def _is_chosen(report: Labelled, chosen: Collection[str]) -> bool:
    """Whether all options that a report changes are among some."""
    return all(name in chosen for name in _options(report))


def _values(facts: Sequence[dict[str, object]]) -> dict[str, set[str]]:
    """The values of each fact, by name."""
    names = dict.fromkeys(name for each in facts for name in each)
    return {name: {repr(each.get(name)) for each in facts} for name in names}


def _differing(values: Mapping[str, Collection[str]]) -> list[str]:
    """The names of the facts that differ."""
    kinds = {name: len(each) for name, each in values.items()}
    if kinds.get("target", 0) > 1:  # products matter only where one architecture has several
        del kinds["product" if kinds["product"] == kinds["target"] else "target"]
    return [name for name, number in kinds.items() if number > 1]


def _written(name: str, facts: Mapping[str, object]) -> str:
    return _FORMATS[name].format(facts[name]) if name in _FORMATS else f"{name}={facts[name]}"


def _facts(report: Labelled, chosen: Collection[str]) -> dict[str, object]:
    """Return the settings of a report by name.

    Args:
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
        **config.arguments(),
        **config.constexprs,
    }
