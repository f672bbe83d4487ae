"""Arguments that can be changed: how they derive from a description's sizes."""

from msgspec.structs import replace

from irlens.compiler import Description
from irlens.model.capture import Capture
from irlens.model.config import Config, Target
from irlens.session.arguments import (
    Derivation,
    argument_settings,
    derive_constexprs,
    find_derivation,
    requested_arguments,
)

DESCRIPTION = Description(
    sizes={"rows": 64, "cols": 1024},
    args={
        "x": "fp16[rows, cols]",
        "desc": "fp16[cols, rows]:block[BLOCK, 64]",
        "n": "rows * cols",
        "one": 1,
        "flag": True,
    },
    constexprs={"BLOCK": "next_power_of_2(cols)", "HALF": "BLOCK // 2", "MODE": "'fast'"},
    grid=("cdiv(rows * cols, BLOCK)",),
)
CAPTURE = Capture(
    kernel="k",
    target=Target(vendor="nvidia", arch="sm_90", warp_size=32),
    config=Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None,
        constexprs={"BLOCK": 128, "HALF": 64, "MODE": "fast"},
        args={
            "x": "fp16[32, 100]", "desc": "fp16[100, 32]:block[BLOCK, 64]",
            "n": 3200, "one": 1, "flag": "True",
        },
        grid=(25, 1, 1),
    ),
    stages={},
)  # fmt: skip


def with_config(**changes: object) -> Capture:
    return replace(CAPTURE, config=replace(CAPTURE.config, **changes))


def test_sizes_are_read_off_the_extents_that_they_were_given_to() -> None:
    derivation = find_derivation(CAPTURE, DESCRIPTION)
    assert derivation.sizes == {"rows": 32, "cols": 100}
    assert derivation.grid
    assert derivation.expressions == {
        "x": "fp16[rows, cols]",
        "desc": "fp16[cols, rows]:block[BLOCK, 64]",
        "n": "rows * cols",
        "BLOCK": "next_power_of_2(cols)",
        "HALF": "BLOCK // 2",
    }


def test_without_a_description_everything_stays_as_it_was() -> None:
    derivation = find_derivation(CAPTURE, None)
    assert derivation == Derivation()
    changed = requested_arguments(CAPTURE, derivation, {"x": "bf16", "desc": "fp32", "n": "7"})
    assert changed == {
        "x": "bf16[32, 100]", "desc": "fp32[100, 32]:block[BLOCK, 64]",
        "n": 7, "one": 1, "flag": "True",
    }  # fmt: skip
    assert derive_constexprs(derivation, None, changed, {}, {}) == {}


def test_what_is_not_as_described_does_not_follow() -> None:
    capture = with_config(
        args={**CAPTURE.config.args, "n": 17}, constexprs={"BLOCK": 256, "HALF": 64, "MODE": "fast"}
    )
    derivation = find_derivation(capture, DESCRIPTION)
    assert derivation.expressions.keys() == {"x", "desc"}
    assert not derivation.grid, "25 programs are not what it says for blocks of 256"
    assert requested_arguments(capture, derivation, {})["n"] == 17


def test_what_follows_is_left_to_the_description_unless_it_is_chosen() -> None:
    derivation = find_derivation(CAPTURE, DESCRIPTION)
    changes = {"cols": "500", "x": "fp32"}
    args = requested_arguments(CAPTURE, derivation, changes)
    assert args == {"rows": 32, "cols": 500, "one": 1, "flag": "True", "x": "fp32"}
    constexprs = dict(CAPTURE.config.constexprs)
    made = derive_constexprs(derivation, DESCRIPTION, args, constexprs, changes)
    assert made == {"BLOCK": 512, "HALF": 256}
    chosen = {"BLOCK": "1024"}
    made = derive_constexprs(
        derivation, DESCRIPTION, args, constexprs | {"BLOCK": 1024}, changes | chosen
    )
    assert made == {"HALF": 512}


def test_the_settings_tell_sizes_arguments_and_dtypes() -> None:
    settings = {
        each.name: each
        for each in argument_settings(CAPTURE, find_derivation(CAPTURE, DESCRIPTION))
    }
    assert list(settings) == ["rows", "cols", "x", "desc", "n", "one", "flag"]
    assert settings["x"].choices[:2] == ("fp16[32, 100]", "fp64")
    assert "int32" not in settings["x"].choices
    assert settings["n"].follows == "rows * cols"
    assert settings["flag"].choices == ()
