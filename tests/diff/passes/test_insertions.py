"""The passes that insert layout conversions, against the dumps themselves."""

import re

import msgspec
import pytest

from irlens.analyze.layout_conversions import find_conversions
from irlens.diff.passes.insertions import insertions
from irlens.isa import mlir
from irlens.model.passes import Passes
from irlens.session import Configurations
from irlens.session.passes import states_of
from irlens.session.session import Session
from tests.running import inline, irlens

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")

USERS = "tests/data/findings/users.py"
TURNING = "tests/data/gluon/turning.py"


def test_each_conversion_of_the_ttgir_is_there_after_its_pass_and_not_before() -> None:
    """The bias of attention is loaded in one layout, and becomes an accumulator in another."""
    states = states_of(f"{USERS}:biased_attention", Configurations(targets=("sm_90",)), Session())
    found = insertions(states)
    ttgir = mlir.parse(states.capture.stages["ttgir"].read().decode(), stage="ttgir")
    assert len(found) == sum(1 for _ in find_conversions(ttgir)) > 0
    bias = found[0]
    assert bias.conversion.before_kind.startswith("blocked")
    assert bias.conversion.through == "shared memory"
    assert bias.number is not None
    assert bias.between is not None
    names = [each.name for each in states.dumps.passes]
    assert names[bias.number - 1] == "TritonGPUAccelerateMatmul"
    assert names[bias.between - 1] == "TritonGPURemoveLayoutConversions"
    assert not _to_product(states.before(bias.number))
    assert _to_product(states.after(bias.number) or "")
    assert bias.conversion.before not in _to_product(states.before(bias.between))
    assert bias.conversion.before in _to_product(states.after(bias.between) or "")


def _to_product(text: str) -> list[str]:
    """Return the layouts of which a tile of the bias is converted to that of a product."""
    aliases = dict(re.findall(r"^(#\w+) = (#ttg\S.*)$", text, re.MULTILINE))
    tile = r"tensor<64x32xf32, (#\w+)>"
    found = re.findall(rf"convert_layout %\S+ : {tile} -> {tile}", text)
    return [aliases[one] for one, other in found if "mma" in aliases[other]]


@pytest.mark.parametrize(
    ("target", "way", "name"),
    [
        ("sm_90", "shared memory", "TritonGPUAccelerateMatmul"),
        ("gfx942", "LDS", "TritonAMDGPUAccelerateMatmul"),
    ],
)
def test_the_command_names_the_pass(target: str, way: str, name: str) -> None:
    kernel = f"{USERS}:biased_attention"
    ran = irlens("passes", kernel, "-t", target, "--conversions", "--set", "BN=64")
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert name in said
    assert way in said


def test_a_conversion_of_the_source_has_no_pass() -> None:
    ran = irlens("passes", TURNING, "-t", "h100", "--conversions", "--format", "json")
    assert ran.code == 0, ran.err
    assert msgspec.json.decode(ran.raw, type=Passes).insertions == []
    ran = irlens("passes", TURNING, "-t", "h100", "--conversions")
    assert "no layout conversions in the ttgir" in ran.out
