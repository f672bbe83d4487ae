"""Why facts that rules need are unknown, so that "nothing found" is told from "not looked for"."""

from collections.abc import Mapping

from irlens.analyze.facts import Facts

#: Where a report's ``unknown`` may say why a fact is missing, the most specific path first.
_PATHS = {
    "occupancy": ("occupancy",),
    "waves": ("occupancy.waves", "occupancy"),
    "registers": ("resources.registers",),
    "spills": ("spills",),
    "pipelines": ("pipelines",),
    "loads": ("loads",),
    "traffic": ("traffic",),
    "sectors": ("traffic.load_sectors", "traffic.store_sectors", "traffic"),
    "ttir": ("stages.ttir",),
    "ttgir": ("stages.ttgir",),
    "product": ("occupancy.waves", "occupancy"),
}
_REASONS = {
    "ttir": "there is no ttir in this capture",
    "ttgir": "there is no ttgir in this capture",
    "assembly": "there is no ptx and no amdgcn in this capture",
    "ptx": "there is no ptx in this capture",
    "serialized": "there is no cubin in this capture that shows it",
    "grid": "the launch's grid is unknown",
    "product": "the product is unknown: name one as the target",
}


def missing_facts(facts: Facts, unknown: Mapping[str, str]) -> dict[str, str]:
    """Return why each fact is missing that rules need and that this kernel could have.

    Args:
        unknown: Why figures of the report are unknown, by path.
    """
    lacking = {
        "ttir": facts.ttir is None,
        "ttgir": facts.ttgir is None,
        "assembly": facts.assembly is None,
        "ptx": facts.ptx is None and (facts.gpu is None or facts.gpu.arch.vendor != "amd"),
        "serialized": facts.ptx is not None and facts.serialized is None,
        "grid": facts.config.grid is None,
        "product": facts.gpu is None or facts.gpu.product is None,
        "occupancy": facts.occupancy is None,
        "waves": facts.occupancy is None or facts.occupancy.waves is None,
        "registers": facts.resources.registers is None,
        "spills": facts.spills is None,
        "pipelines": "pipelines" in unknown,
        "loads": "loads" in unknown,
        # With a reason, accesses may be missing.
        "traffic": facts.traffic is None or bool(facts.traffic.reason),
        # Without a launch rules estimate; with one, an access that is not counted is left out.
        "sectors": facts.traffic is not None
        and None in (facts.traffic.load_sectors, facts.traffic.store_sectors),
    }
    return {name: _reason(name, unknown) for name, lacks in lacking.items() if lacks}


def _reason(name: str, unknown: Mapping[str, str]) -> str:
    told = (unknown[path] for path in _PATHS.get(name, ()) if path in unknown)
    return next(told, "") or _REASONS.get(name, f"{name} unknown")
