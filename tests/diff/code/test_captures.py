"""Which captures' code is compared, and what each pair is called."""

from pathlib import Path

import msgspec

import irlens
from irlens.diff.code.captures import compare_across
from irlens.model.capture import Capture

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"


def config(num_warps: int, *, triton: str) -> Capture:
    """The softmax as if it had been asked for with so many warps, of some Triton."""
    (found,) = irlens.load(CAPTURES / "softmax-h100")
    assert found.manifest is not None
    return msgspec.structs.replace(
        found,
        config=msgspec.structs.replace(found.config, num_warps=num_warps),
        manifest=msgspec.structs.replace(found.manifest, triton_version=triton),
    )


def test_what_sets_pairs_apart_is_told_and_what_they_share_is_not() -> None:
    sets = [[config(warps, triton=version) for warps in (4, 8)] for version in ("3.6.0", "3.9.0")]
    found = compare_across(sets, ["ttir"])
    assert [(pair.setting, pair.before.label, pair.after.label) for pair in found.pairs] == [
        ("num_warps=4", "Triton 3.6.0", "Triton 3.9.0"),
        ("num_warps=8", "Triton 3.6.0", "Triton 3.9.0"),
    ]
    alone = compare_across([[each[0]] for each in sets], ["ttir"])
    assert [pair.setting for pair in alone.pairs] == [""]
    assert not found.different


def test_configurations_of_an_autotuner_are_compared_with_themselves() -> None:
    every = [
        msgspec.structs.replace(
            each, config=msgspec.structs.replace(each.config, constexprs={"BLOCK": block})
        )
        for warps in (4, 8)
        for block in (64, 128)
        for each in (config(warps, triton="3.9.0"),)
    ]
    found = compare_across([every], ["ttir"], varied={"num_warps"})
    assert [(pair.setting, pair.before.label, pair.after.label) for pair in found.pairs] == [
        ("BLOCK=64", "num_warps=4", "num_warps=8"),
        ("BLOCK=128", "num_warps=4", "num_warps=8"),
    ]
