"""Figures that no field of a report holds: sums and extremes over its lists."""

from irlens.model.inspected import Inspected
from irlens.model.report import COMPUTE_KINDS, Pipeline
from irlens.model.several import all_known, total


def spill_instructions(report: Inspected) -> int | None:
    """Return the instructions that spill or reload; ``None`` where they are unknown."""
    return None if report.spills is None else len(report.spills)


def spill_instructions_in_loops(report: Inspected) -> int | None:
    """Return those of them inside a loop; ``None`` where that is unknown of one."""
    depths = None if report.spills is None else [one.loop_depth for one in report.spills]
    return None if depths is None or None in depths else sum(map(bool, depths))


def shared_bytes(report: Inspected) -> int | None:
    """Return dynamic plus static shared memory per CTA, reserved bytes excluded."""
    return report.resources.shared_bytes


def instructions(report: Inspected) -> int | None:
    """Return the static instructions of ptx or amdgcn."""
    return total(mix.total for mix in report.mix) if report.mix else None


def live_registers(report: Inspected) -> int | None:
    """Return peak register pressure in ptx or amdgcn."""
    pressure = report.pressure.ptx or report.pressure.amdgcn
    return pressure.peak if pressure is not None else None


def stages_achieved(report: Inspected) -> int | None:
    """Return the stages of the shallowest loop that loads data."""
    return _shallowest(_copying(report))[0]


def stages_at_most(report: Inspected) -> int | None:
    """Return the upper bound of ``stages_achieved`` where only a bound is known."""
    return _shallowest(_copying(report))[1]


def stages_requested(report: Inspected) -> int | None:
    """Return the stages that the shallowest loop requests."""
    return _shallowest(_copying(report))[2]


def bytes_in_flight_per_sm(report: Inspected) -> int | None:
    """Return the bytes in flight during the compute, of the loop with the fewest."""
    known = all_known(each.bytes_in_flight_per_sm for each in _copying(report))
    return min(known) if known else None


def flops(report: Inspected) -> int | None:
    """Return the floating-point operations of the launch; ``None`` where they are unknown."""
    traffic = report.traffic
    return None if traffic is None or traffic.flops is None else sum(traffic.flops.values())


def writes(report: Inspected) -> str | None:
    """Return what the launch writes with: "stores", "atomics" or both; ``None`` if unknown."""
    accesses = report.traffic.accesses if report.traffic is not None else []
    names = {"store": "stores", "atomic": "atomics"}
    found = {each.direction for each in accesses}
    return " and ".join(word for name, word in names.items() if name in found) or None


def sectors_over_ideal(report: Inspected) -> float | None:
    """Return the sectors of loads and stores over the fewest that hold as many bytes."""
    traffic = report.traffic
    if traffic is None:
        return None
    sectors = total([traffic.load_sectors, traffic.store_sectors])
    ideal = total([traffic.ideal_load_sectors, traffic.ideal_store_sectors])
    return sectors / ideal if sectors is not None and ideal else None


def products_computed_in(report: Inspected) -> str | None:
    """Return the types that the kernel's products are computed in; ``None`` if one is unknown."""
    known = all_known(each.computed for each in report.products)
    return ", ".join(dict.fromkeys(known)) if known else None


def product_slowdown(report: Inspected) -> float | None:
    """Return how many times as long the slowest product takes as in its operands' own type."""
    return max((each.slowdown for each in report.products if each.slowdown), default=None)


def _copying(report: Inspected) -> list[Pipeline]:
    return [each for each in report.pipelines if each.kind not in COMPUTE_KINDS]


def _shallowest(pipelines: list[Pipeline]) -> tuple[int | None, int | None, int | None]:
    """Return the stages achieved, at most, and requested of the loop with the fewest.

    A loop that is not pipelined has one stage. All are unknown without loops, or where one loop
    is unknown. If a single loop has only an upper bound, so has the minimum.
    """
    depths, exact = [], True
    for each in pipelines:
        achieved = 1 if each.verdict == "not pipelined" else each.achieved_stages
        known = each.stages_at_most if achieved is None else achieved
        if known is None:
            return None, None, None
        exact = exact and achieved is not None
        depths.append((known, each.requested_stages))
    fewest, requested = min(depths, key=lambda depth: depth[0], default=(None, None))
    return (fewest, None, requested) if exact else (None, fewest, requested)
