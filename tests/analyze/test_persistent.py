"""Programs of a persistent launch, on hand-made reports."""

import msgspec
import pytest

from irlens import gpus
from irlens.analyze import occupancy
from irlens.analyze.occupancy import persistence
from irlens.model.config import Config
from irlens.model.program import Persistence
from irlens.model.resources import Resources

CONFIG = Config(
    num_warps=4, num_stages=1, num_ctas=1, maxnreg=None, constexprs={}, args={}, grid=(2112, 1, 1)
)
RESOURCES = Resources(
    registers=30,
    shared_dynamic_bytes=12_320,
    shared_static_bytes=0,
    local_bytes=0,
    stack_bytes=0,
)


def _found(
    target: str = "h100", *, config: Config = CONFIG, resources: Resources = RESOURCES
) -> Persistence | None:
    gpu = gpus.find(target)
    usage = occupancy.Usage(
        threads=(config.num_warps or 0) * gpu.target.warp_size,
        registers=resources.registers or 0,
        shared_bytes=resources.shared_dynamic_bytes or 0,
    )
    return persistence(gpu, occupancy.compute(gpu, usage), resources, config)


def test_the_tutorials_formula_knows_no_limit_of_warps() -> None:
    """65,536 // (30 x 32 x 4) is 17; an SM has room for 64 warps, which are 16 CTAs."""
    found = _found()
    assert found is not None
    assert (found.sm_count, found.blocks_per_sm, found.tutorial_blocks_per_sm) == (132, 16, 17)


def test_the_tutorials_formula_reserves_no_shared_memory() -> None:
    """232,448 // 58,112 is 4; with the 1,024 B that the system reserves, 233,472 B hold 3."""
    large = msgspec.structs.replace(RESOURCES, shared_dynamic_bytes=58_112)
    found = _found(resources=large, config=msgspec.structs.replace(CONFIG, grid=(132 * 3, 1, 1)))
    assert found is not None
    assert (found.blocks_per_sm, found.tutorial_blocks_per_sm) == (3, 4)


@pytest.mark.parametrize("programs", [1, 2111, 2113, 4224])
def test_another_number_of_programs_is_not_persistent(programs: int) -> None:
    assert _found(config=msgspec.structs.replace(CONFIG, grid=(programs, 1, 1))) is None


def test_unknown_resources_have_no_formula() -> None:
    gpu = gpus.find("h100")
    usage = occupancy.Usage(threads=128, registers=30, shared_bytes=12_320)
    fits = occupancy.compute(gpu, usage)
    unknown = msgspec.structs.replace(RESOURCES, shared_dynamic_bytes=None)
    found = persistence(gpu, fits, unknown, CONFIG)
    assert found is not None
    assert found.tutorial_blocks_per_sm is None
    assert persistence(None, fits, RESOURCES, CONFIG) is None
    assert persistence(gpu, None, RESOURCES, CONFIG) is None
    assert persistence(gpus.find("sm_90"), fits, RESOURCES, CONFIG) is None  # no SM count
