"""Whether more stages for a loop can help: what its waits cost, and what shared memory holds."""

from irlens.analyze.facts import Facts
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Pipeline
from irlens.model.text import percent, size


def why_no_more(facts: Facts, pipeline: Pipeline, stages: int, iterations: int = 1) -> str:
    """Return why a loop gains nothing by a number of stages; empty where it may gain.

    Args:
        iterations: How many more iterations of data shared memory then holds.
    """
    held, arch = facts.resources.shared_dynamic_bytes, facts.gpu.arch if facts.gpu else None
    if held is not None and arch is not None:
        needed = held + iterations * (pipeline.bytes_per_iteration or 0)
        if needed > (most := arch.shared_per_block_optin):
            return (
                f"{stages} stages would take {size(needed)} of {facts.words.shared_memory}, and a"
                f" {facts.words.cta} has at most {size(most)}"
            )
    return waits_are_short(facts)


def waits_are_short(facts: Facts) -> str:
    """Return that no stages shorten a launch, as it hardly waits for loads; empty if they may."""
    waits = facts.share_of_waits()
    if waits is None or waits >= RESOLUTION:
        return ""
    return (
        "more stages hardly help: if no load were waited for, the launch would take less than"
        f" {percent(RESOLUTION)} less time"
    )
