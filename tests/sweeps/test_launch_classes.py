"""Launches that stand for ranges of arguments, against every launch of the ranges."""

import itertools
import random
from functools import cache

import pytest

from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.sources.description import Description
from irlens.model.config import ConstexprValue, Values, each_value, number_of
from irlens.model.errors import IrlensError
from irlens.sweeps.launch_classes import class_of, launches_of, representatives, samples

DESCRIPTION = Description(
    sizes={"n": 1000, "rows": 8},
    args={
        "x": "fp32[rows, n]",
        "n": "n",
        "stride": "n * 3",
        "blocks": "cdiv(n, 48)",
        "rows": "rows",
    },
    constexprs={"BLOCK": "next_power_of_2(n)", "WIDE": "min(n, 64)", "WARPS": 4},
)
PARAMETERS = ("x", "n", "stride", "blocks", "rows")


def key(n: int, rows: int) -> tuple[object, ...]:
    """What Triton would compile a launch of ``DESCRIPTION`` for."""
    return (*_decided_by("n", n), *_decided_by("rows", rows))


@cache
def _decided_by(size: str, number: int) -> tuple[object, ...]:
    """What one size decides: no value of the description follows from both."""
    names: dict[str, ConstexprValue] = {size: number}
    found: list[object] = []
    for name in ("rows",) if size == "rows" else ("n", "stride", "blocks"):
        value = evaluate(DESCRIPTION.args[name], names, name)
        assert isinstance(value, int)
        found.append(class_of(value))
    if size == "n":
        found += [evaluate(each, names, "") for each in DESCRIPTION.constexprs.values()]
    return tuple(found)


@pytest.mark.parametrize("seed", range(12))
def test_the_chosen_launches_need_every_variant_of_all(seed: int) -> None:
    picked = random.Random(seed)
    low, rows = picked.randint(1, 300), picked.randint(1, 40)
    axes: dict[str, Values] = {
        "n": [range(low, low + picked.randint(40, 900), picked.choice((1, 3, 16)))],
        "rows": [range(rows, rows + picked.randint(2, 60), picked.choice((1, 5)))],
    }
    launches = launches_of(axes, DESCRIPTION, {}, PARAMETERS)
    assert launches.bounded == ""
    assert launches.number == number_of(axes["n"]) * number_of(axes["rows"])
    every = {
        key(int(n), int(r)) for n, r in itertools.product(*(each_value(v) for v in axes.values()))
    }
    chosen = [(int(str(each["n"])), int(str(each["rows"]))) for each in launches.chosen]
    assert {key(*each) for each in chosen} == every
    if launches.number > 64:
        assert len(chosen) == len(every)
    for n, r in chosen:
        assert str(n) in set(each_value(axes["n"]))
        assert str(r) in set(each_value(axes["rows"]))


@pytest.mark.parametrize("seed", range(20))
def test_representatives_have_each_class_once(seed: int) -> None:
    picked = random.Random(seed)
    first = picked.choice((-40, 0, 1, 2, 2**31 - 50, 2**63 - 40, picked.randint(0, 10**6)))
    numbers = range(first, first + picked.randint(1, 400), picked.choice((1, 2, 7, 16, 32)))
    found = [int(each) for each in representatives([numbers])]
    assert all(each in numbers for each in found)
    classes = [class_of(each) for each in found]
    assert len(classes) == len({*classes})
    assert {*classes} == {class_of(each) for each in numbers}


def test_a_range_that_nobody_could_list_has_representatives() -> None:
    found = [int(each) for each in representatives([range(1, 2**64)])]
    assert found == sorted(found)
    assert {class_of(each) for each in found} == {
        (part, False, multiple) for part in (3, 4, 5) for multiple in (True, False)
    } | {(3, True, False)}


def test_text_is_a_class_of_its_own() -> None:
    assert set(representatives(["fp16[4]", "bf16[4]", "3", "5"])) == {"fp16[4]", "bf16[4]", "3"}


def test_functions_of_the_file_may_need_more_variants() -> None:
    axes: dict[str, Values] = {"n": [range(1, 100_001)]}
    launches = launches_of(axes, DESCRIPTION, {}, PARAMETERS, decided=["EVEN_N"])
    assert "functions choose EVEN_N" in launches.bounded
    chosen = {int(str(each["n"])) for each in launches.chosen}
    assert {1, 100_000, 65_536, 98_304} <= chosen
    few = launches_of({"n": [range(1, 1001)]}, DESCRIPTION, {}, PARAMETERS, decided=["EVEN_N"])
    assert few.bounded == ""
    assert len(few.chosen) == 1000


def test_a_condition_is_sampled() -> None:
    described = Description(
        sizes={"n": 8}, args={"n": "n"}, constexprs={"BLOCK": "64 if n > 100 else 32"}
    )
    launches = launches_of({"n": [range(1, 5000)]}, described, {}, ("n",))
    assert "cannot be evaluated for many values" in launches.bounded
    assert len(launches.chosen) > 10


def test_samples_lie_in_their_range() -> None:
    numbers = range(7, 5000, 3)
    assert all(int(each) in numbers for each in samples([numbers]))


def test_too_many_launches_are_refused() -> None:
    axes: dict[str, Values] = {f"n{each}": [range(1, 100)] for each in range(12)}
    with pytest.raises(IrlensError, match="more than 20,000 launches"):
        launches_of(axes, None, {}, tuple(axes))
