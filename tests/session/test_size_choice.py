"""The configurations that a sweep writes for programs: a module that runs, and a list."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from irlens.model.config import Target
from irlens.model.errors import IrlensError
from irlens.model.ranking import with_standings
from irlens.model.sweep import SWEEP_SCHEMA, Sweep, Trial
from irlens.session import Configurations
from irlens.session.grids import samples_sizes, varied_size
from irlens.session.size_choice import choice_text, require_choice

_TARGET = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h200")
#: The fastest block at each size.
_BEST = {256: 64, 512: 64, 1024: 128, 4096: 256}


def _sweep(axis: str | None) -> Sweep:
    sizes = _BEST if axis else [256]
    trials = [
        Trial(
            label="", target=_TARGET, settings={"BLOCK": block, "num_warps": block // 32},
            args={"n": size} if axis else {}, outcome="fits",
            figures={"time": 1.0 if _BEST[size] == block else 2.0},
        )
        for size in sizes
        for block in (64, 128, 256)
    ]  # fmt: skip
    return Sweep(
        schema=SWEEP_SCHEMA, kernel="k", targets=[_TARGET], where=[], filters=[],
        trials=with_standings(trials), excluded=0, filtered=0, axis=axis,
    )  # fmt: skip


def test_the_module_chooses_what_is_fastest_at_each_size() -> None:
    pytest.importorskip("triton")
    names: dict[str, object] = {}
    exec(choice_text(_sweep("n"), Path("choose.py")), names)
    choose = names["best_config"]
    assert callable(choose)
    for size, block in _BEST.items():
        config = choose(size)
        assert config.kwargs == {"BLOCK": block}
        assert config.num_warps == block // 32
    assert choose(1).kwargs == {"BLOCK": 64}
    assert choose(1 << 20).kwargs == {"BLOCK": 256}


def test_the_list_has_the_sizes_of_each_configuration() -> None:
    written = json.loads(choice_text(_sweep("n"), Path("choose.json")))
    assert written["size"] == "n"
    spans = [(each["first"], each["last"]) for each in written["choices"]]
    assert spans == [(256, 512), (1024, 1024), (4096, 4096)]
    assert written["choices"][0]["config"] == {"kwargs": {"BLOCK": 64}, "num_warps": 2}


def test_without_a_size_the_fastest_are_listed() -> None:
    text = choice_text(_sweep(None), Path("configs.py"))
    assert "triton.Config({'BLOCK': 64}, num_warps=2)" in text
    assert "best_config" not in text


def test_other_files_are_refused() -> None:
    with pytest.raises(IrlensError, match=r"\.py nor in \.json"):
        require_choice(Path("choose.txt"))


@pytest.mark.parametrize("name", ['k"""\nimport os\n"""', "k\nimport os", "a-b", ""])
def test_a_name_that_is_none_in_python_is_not_written(name: str) -> None:
    for sweep in (replace(_sweep("n"), kernel=name), replace(_sweep("n"), axis=name or " ")):
        with pytest.raises(IrlensError, match="is no name in Python"):
            choice_text(sweep, Path("choose.py"))


def test_a_constexpr_is_written_as_it_is() -> None:
    hostile = "\"\"\"'''\n);__import__('os').abort()#\\"
    sweep = _sweep(None)
    trials = [
        replace(each, settings={**each.settings, "ACTIVATION": hostile}) for each in sweep.trials
    ]
    names: dict[str, Any] = {}
    exec(choice_text(replace(sweep, trials=trials), Path("choose.py")), names)
    assert all(each.kwargs["ACTIVATION"] == hostile for each in names["CONFIGS"])


@pytest.mark.parametrize(
    ("values", "ranging"),
    [
        (("1..100",), "n"),
        (tuple(map(str, range(16, 1616, 16))), "n"),  # evaluating each would take minutes
        (("16", "32"), None),
        (tuple(f"fp32[{n}]" for n in range(100)), None),
    ],
)
def test_a_long_list_of_sizes_is_sampled_as_a_range_is(
    values: tuple[str, ...], ranging: str | None
) -> None:
    configurations = Configurations(args=(("n", values), ("m", ("4",))))
    assert varied_size(configurations) == ranging
    assert samples_sizes(configurations) == (ranging is not None)
