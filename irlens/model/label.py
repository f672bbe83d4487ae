"""What sets reports apart that stand beside each other."""

from collections.abc import Sequence

from irlens.model.report import Report

#: Facts that say what they are without their name.
_BARE = frozenset({"kernel", "target", "product"})


def labels(reports: Sequence[Report]) -> list[str]:
    """Return what sets each report apart from the others: "sm_80 num_stages=3"; "" if nothing."""
    facts = [_facts(report) for report in reports]
    ranks: dict[str, int] = {}
    for each in facts:
        for rank, name in enumerate(each):
            ranks[name] = min(rank, ranks.get(name, rank))
    names = sorted(ranks, key=lambda name: (ranks[name], name))
    differing = [name for name in names if len({repr(each.get(name)) for each in facts}) > 1]
    if "target" in differing and "product" in differing:
        differing.remove("product")
    return [
        " ".join(
            f"{each[name]}" if name in _BARE else f"{name}={each[name]}"
            for name in differing
            if name in each
        )
        for each in facts
    ]


def _facts(report: Report) -> dict[str, object]:
    config, target = report.config, report.target
    return {
        "kernel": report.kernel,
        "target": target.arch if target else "unknown",
        "product": target.product or target.arch if target else "unknown",
        "triton": report.triton_version,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas,
        "maxnreg": config.maxnreg,
        **config.args,
        **config.constexprs,
    }
