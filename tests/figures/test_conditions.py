"""Conditions: what can be said, what cannot, and where the mistake is."""

import ast
import operator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.figures import budget_names, sample
from irlens.figures.conditions import ConditionError, parse, parse_all
from irlens.model.comparison import Value
from tests.tables import each_row


def paths(text: str) -> list[str]:
    return [figure.budget_path for figure in parse(text).figures]


def column_of_error(text: str) -> tuple[int, str]:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    return caught.value.column, caught.value.message


def test_short_names_and_those_of_the_json_report_mean_the_same() -> None:
    assert paths("registers <= 128") == paths("resources.registers <= 128")
    assert paths("occupancy >= 0.5") == ["occupancy.theoretical"]
    assert paths("launchable") == ["occupancy.launchable"]
    assert paths("pipeline.achieved >= requested") == paths(
        "pipelines.achieved_stages >= pipeline.requested_stages"
    )
    assert paths("num_warps == 4 or blocks_per_sm > 1") == [
        "config.num_warps", "occupancy.blocks_per_sm",
    ]  # fmt: skip


def test_a_leaf_stands_for_the_resource_and_not_for_its_limit() -> None:
    assert paths("registers < 3") == ["resources.registers"]
    assert paths("occupancy.limits.registers < 3") == ["occupancy.limits.registers"]


@pytest.mark.parametrize(
    ("text", "value", "held"),
    [
        ("occupancy >= 0.5", 0.5, True),
        ("occupancy >= 0.5", 0.49, False),
        ("0.25 < occupancy <= 0.5", 0.25, False),
        ("not occupancy >= 0.5", 0.25, True),
        ("occupancy * 100 >= 50", 0.5, True),
        (" occupancy == 1 or occupancy == 0.5 ", 1.0, True),
        ("occupancy - -1 > 1", 0.25, True),
    ],
)
def test_values(text: str, value: Value, held: bool) -> None:
    assert parse(text).holds({"occupancy.theoretical": value}) is held


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("registers <= 1e400", 14),
        ("registers > -1e400", 14),
        ("registers <= 1e308 * 10", 1),
        ("registers * 1e308 * 10 - registers * 1e308 * 10 < 5", 1),
    ],
)
def test_a_number_that_is_too_large_is_no_bound(text: str, column: int) -> None:
    found, told = column_of_error(text)
    assert found == column
    assert "too large" in told


@pytest.mark.parametrize("text", ["registers * 1e300 > 1", "registers / 3 > 1"])
def test_a_figure_that_makes_a_number_too_large(text: str) -> None:
    condition = parse(text)
    assert condition.holds({"resources.registers": 30})
    with pytest.raises(ArithmeticError, match="too large"):
        condition.holds({"resources.registers": 10**400 if "/" in text else 1e200})


def test_it_is_known_what_speaks_of_pipelines() -> None:
    assert parse("pipeline.kind == 'tma' and registers < 3").of_pipelines
    assert not parse("registers < 3").of_pipelines


@each_row(
    ("text", "column", "told"),
    [
        ("occupency >= 0.5", 1, "did you mean occupancy"),
        ("launchable and registrs < 9", 16, "did you mean registers"),
        ("  registrs < 9", 3, "did you mean registers"),
        ("registers", 1, "not a condition"),
        ("registers + 1", 1, "not a condition"),
        ("1 < 2", 1, "no figure"),
        ("registers = 3", 1, "not a condition"),
        ("registers <", 12, "not a condition"),
        ("", 1, "not a condition"),
        ("registers <= 'many'", 1, "registers is not a word"),
        ("registers != '30'", 1, "registers is not a word"),
        ("launchable and pipeline.kind == 3", 16, "pipeline.kind is a word"),
        (
            "pipeline.verdict != 'pipelind'",
            1,
            "never 'pipelind', but one of not pipelined, pipelined",
        ),
        ("registers - 'ab' == 3", 1, "cannot be evaluated"),
        ("open('x') == registers", 1, "not allowed"),
        ("registers.__class__ == 1", 1, "unknown figure"),
        ("[registers for registers in []] == 1", 1, "not allowed"),
        ("registers ** 9 ** 9 > 1", 1, "not allowed"),
        ("registers in (1, 2)", 1, "not allowed"),
        ("(lambda: registers)() == 1", 1, "not allowed"),
        ("registers if launchable else 1 > 2", 1, "not allowed"),
        ("registers < 1; launchable", 14, "not a condition"),
        ("launchable and occupancy >= 50", 16, "occupancy is a ratio from 0 to 1, never 50"),
        ("75 <= occupancy.theoretical", 1, "a ratio"),
        ("a" * 500, 1, "longer"),
        ("(" * 300 + ")" * 300, 1, ""),
    ],
)
def test_mistakes(text: str, column: int, told: str) -> None:
    where, message = column_of_error(text)
    assert told in message
    if told != "not a condition":  # Python says where its own parser stopped
        assert where == column


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("live_registers", "computed from other figures"),
        ("summary.instructions", "computed from other figures"),
        ("spills.instructions", "computed from other figures"),
        ("loads.shape", "it belongs to one load"),
        ("pressure.sass.peak", "it needs pressure.sass"),
        ("limited_by", "measures nothing"),
    ],
)
def test_a_figure_that_budgets_cannot_use_is_not_unknown(name: str, reason: str) -> None:
    column, message = column_of_error(f"launchable and {name} < 3")
    assert column == 16
    assert message.startswith(f"the figure '{name}' exists, but budgets cannot use it: ")
    assert reason in message


def test_what_and_joins_has_to_hold_by_itself() -> None:
    told = parse_all(" launchable and (registers < 3 and (vgprs < 4 or sgprs < 5)) ")
    assert [one.text for one in told] == ["launchable", "registers < 3", "vgprs < 4 or sgprs < 5"]
    assert [[figure.path for figure in one.figures] for one in told] == [
        ["occupancy.launchable"], ["resources.registers"], ["resources.vgprs", "resources.sgprs"],
    ]  # fmt: skip
    assert [one.text for one in parse_all("registers < 3 or launchable")] == [
        "registers < 3 or launchable"
    ]


@pytest.mark.parametrize("text", ["  launchable and registers", "launchable and (1 < 2)"])
def test_each_has_to_be_a_condition(text: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_all(text)
    assert text[caught.value.column - 1 :].startswith(("registers", "1"))


def test_the_baseline_alone_is_that_of_the_figure_it_is_compared_with() -> None:
    short, whole = parse("time.estimate_us <= 1.05 * baseline"), parse("registers < baseline.sgprs")
    assert [each.budget_path for each in short.baselines] == ["time.estimate_us"]
    assert [each.budget_path for each in whole.baselines] == ["resources.sgprs"]
    assert not parse("registers < 3").baselines
    values = {"time.estimate_us": 21.0, "baseline.time.estimate_us": 20.0}
    assert short.holds(values)
    assert not short.holds(values | {"time.estimate_us": 21.1})
    assert parse("pipelines.achieved_stages >= baseline").of_pipelines
    nested = parse("launchable or (registers - 4) / baseline <= 1")
    assert [each.budget_path for each in nested.baselines] == ["resources.registers"]


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("baseline < 3", 1, "say which figure of the baseline"),
        ("registers + sgprs < baseline", 21, "say which figure of the baseline"),
        ("registers < 3 or baseline", 18, "say which figure of the baseline"),
        ("registers < baseline.registrs", 13, "did you mean registers"),
        ("time.bound == baseline", 15, "the baseline does not keep time.bound"),
        ("baseline", 1, "say which figure"),
    ],
)
def test_mistakes_about_the_baseline(text: str, column: int, told: str) -> None:
    where, message = column_of_error(text)
    assert told in message
    assert where == column


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    with suppress(ConditionError):
        parse(text)


_COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
             "==": operator.eq, "!=": operator.ne}  # fmt: skip


@given(st.sampled_from(sorted(_COMPARED)), st.integers(0, 300), st.integers(0, 300))
def test_comparisons_are_python_s(sign: str, value: int, bound: int) -> None:
    condition = parse(f"registers {sign} {bound}")
    assert condition.holds({"resources.registers": value}) is _COMPARED[sign](value, bound)


def test_every_figure_can_be_asked_for() -> None:
    known = budget_names()
    assert len(known) > 60
    for name, figure in known.items():
        value = sample(figure)
        text = f"{name} == {value!r}" if value is not True else name
        condition = parse(text)
        assert condition.figures == (figure,)
        assert condition.holds({figure.budget_path: value})
        assert isinstance(condition.tree, ast.expr)


def test_heuristics_are_no_figures() -> None:
    assert not [name for name in budget_names() if "finding" in name or "reason" in name]
