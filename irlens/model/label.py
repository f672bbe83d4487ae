"""What sets reports apart that stand beside each other."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from irlens.model.config import Config, Target

#: Facts that are not told as "name=value": some say what they are without their name.
_TOLD = {"target": "{}", "product": "{}", "triton": "Triton {}"}


class Labelled(Protocol):
    """What is set apart: a report, or a side of a comparison."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def target(self) -> Target | None:
        """What it was compiled for, if that is known."""

    @property
    def triton_version(self) -> str | None:
        """The compiler, if that is known."""

    @property
    def config(self) -> Config:
        """What it was asked for."""


def labels(reports: Sequence[Labelled]) -> list[str]:
    """Return what sets each report apart from the others: "sm_80 num_stages=3"; "" if nothing.

    Kernels have arguments and constexprs of their own, so each is set apart from its like.
    """
    kernels: dict[str, list[dict[str, object]]] = {}
    facts = [_facts(report) for report in reports]
    for report, each in zip(reports, facts, strict=True):
        kernels.setdefault(report.kernel, []).append(each)
    differing = {kernel: _differing(like) for kernel, like in kernels.items()}
    return [
        " ".join(
            [
                *([report.kernel] if len(kernels) > 1 else []),
                *(_told(name, each) for name in differing[report.kernel] if name in each),
            ]
        )
        for report, each in zip(reports, facts, strict=True)
    ]


def labels_among(reports: Sequence[Labelled], key: Callable[[Labelled], Hashable]) -> list[str]:
    """Return what sets each report apart from the others of the same key."""
    alike: dict[Hashable, list[int]] = {}
    for index, report in enumerate(reports):
        alike.setdefault(key(report), []).append(index)
    told: dict[int, str] = {}
    for indices in alike.values():
        told |= zip(indices, labels([reports[index] for index in indices]), strict=True)
    return [told[index] for index in range(len(reports))]


def _differing(facts: Sequence[dict[str, object]]) -> list[str]:
    """The names of the facts that are not the same everywhere."""
    names = dict.fromkeys(name for each in facts for name in each)
    kinds = {name: len({repr(each.get(name)) for each in facts}) for name in names}
    if kinds["target"] > 1:  # products tell more only where one architecture has several
        del kinds["product" if kinds["product"] == kinds["target"] else "target"]
    return [name for name, number in kinds.items() if number > 1]


def _told(name: str, facts: dict[str, object]) -> str:
    return _TOLD[name].format(facts[name]) if name in _TOLD else f"{name}={facts[name]}"


def _facts(report: Labelled) -> dict[str, object]:
    config, target = report.config, report.target
    compiler = {
        "triton": report.triton_version,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas,
    }
    return {
        "target": target.arch if target else "unknown",
        "product": target.name if target else "unknown",
        # Of a single artifact these are not known.
        **{name: value for name, value in compiler.items() if value is not None},
        "maxnreg": config.maxnreg,
        **config.args,
        **config.constexprs,
    }
