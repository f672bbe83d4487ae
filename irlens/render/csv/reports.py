"""Reports: a line for each."""

from collections.abc import Sequence

from irlens.model.report import Report
from irlens.model.words import depth_in_short
from irlens.render import View
from irlens.render.csv import Field, written


def render(reports: Sequence[Report], view: View) -> str:
    """Return each report's configuration, resources and occupancy."""
    return written(_row(report) for report in reports)


def _row(report: Report) -> dict[str, Field]:
    occupancy, resources = report.occupancy, report.resources
    pipelines = [
        f"{each.kind or 'none'} {deep}"
        for each in report.pipelines
        if (
            deep := depth_in_short(
                each.achieved_stages, each.stages_at_most, str(each.requested_stages or "")
            )
        )
    ]
    return {
        **_configuration(report),
        "occupancy": occupancy.theoretical if occupancy else None,
        "launchable": occupancy.launchable if occupancy else None,
        "blocks_per_sm": occupancy.blocks_per_sm if occupancy else None,
        "limited_by": " ".join(occupancy.limited_by) if occupancy else None,
        **{name: getattr(resources, name) for name in resources.__struct_fields__},
        "pipelines": "; ".join(pipelines),
        "findings": " ".join(finding.code for finding in report.findings),
    }


def _configuration(report: Report) -> dict[str, Field]:
    """What was compiled. A constexpr may be called like an option: its title says what it is."""
    config, target = report.config, report.target
    return {
        "kernel": report.kernel,
        "arch": target.arch if target is not None else None,
        "product": target.product if target is not None else None,
        "triton_version": report.triton_version,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas,
        "maxnreg": config.maxnreg,
        **{f"arg {name}": value for name, value in config.args.items()},
        **{f"constexpr {name}": value for name, value in config.constexprs.items()},
    }
