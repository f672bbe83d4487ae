"""``[tool.irlens]`` of a ``pyproject.toml``: what is asked for, and mistakes with their place."""

import re
from pathlib import Path

import pytest

from irlens.checks import project
from irlens.model.errors import IrlensError


def find(folder: Path, text: str) -> project.Project:
    (folder / "pyproject.toml").write_text(text)
    return project.find(folder)


def test_without_a_project_there_are_defaults(tmp_path: Path) -> None:
    found = project.find(tmp_path)
    assert found.baseline == tmp_path / "irlens.baseline.json"
    assert not found.budgets
    assert not found.kernels


def test_a_budget_that_joins_two_is_two(tmp_path: Path) -> None:
    found = find(tmp_path, '[tool.irlens.budgets]\n"*" = "registers <= 9 and vgprs <= 9"\n')
    told = [(one.condition.text, one.line, one.place) for one in found.budgets]
    assert told == [
        ("registers <= 9", 2, 'tool.irlens.budgets."*"'),
        ("vgprs <= 9", 2, 'tool.irlens.budgets."*"'),
    ]


def test_all_of_it(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    find(
        tmp_path,
        """
[project]
name = "mine"

[tool.irlens]
kernels = "a"

[tool.irlens.check]
baseline = "ci/base.json"
kernels = ["softmax"]
targets = ["a100", "h100"]
strict = true

[tool.irlens.budgets]
"*" = "launchable"
softmax = ["local_bytes == 0", 'occupancy >= 0.5']
"matmul*".h100 = "registers <= 168"

[tool.irlens.budgets.attention]
"gfx*" = ["vgpr_spills == 0"]
""",
    )
    found = project.find(below)
    assert found.root == tmp_path
    assert found.baseline == tmp_path / "ci" / "base.json"
    assert (found.kernels, found.targets, found.strict) == (("softmax",), ("a100", "h100"), True)
    told = [(one.kernel, one.target, one.condition.text, one.line) for one in found.budgets]
    assert told == [
        ("*", "*", "launchable", 15),
        ("softmax", "*", "local_bytes == 0", 16),
        ("softmax", "*", "occupancy >= 0.5", 16),
        ("matmul*", "h100", "registers <= 168", 17),
        ("attention", "gfx*", "vgpr_spills == 0", 20),
    ]
    assert found.budgets[3].place == 'tool.irlens.budgets."matmul*".h100'


def test_budgets_on_launches(tmp_path: Path) -> None:
    found = find(
        tmp_path,
        """
[tool.irlens.budgets]
attention = ["launchable", "variants <= 3"]
"mlp*".h100 = "variants < 3"

[tool.irlens.launches]
attention = { tokens = "1..131072", batch = 8 }

[tool.irlens.limits]
attention = { tokens = 1_000_000, batch = 64 }
""",
    )
    assert [each.text for each in found.budgets] == ["launchable"]
    told = [(one.kernel, one.target, one.text, one.line) for one in found.launch_budgets]
    assert told == [
        ("attention", "*", "variants <= 3", 3),
        ("mlp*", "h100", "variants <= 2", 4),
        ("attention", "*", "limits.tokens > 1000000", 10),
        ("attention", "*", "limits.batch > 64", 10),
    ]
    (launches,) = found.launches
    assert (launches.kernel, launches.args) == ("attention", {"tokens": "1..131072", "batch": "8"})


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ('[tool.irlens.budgets]\na = "variants >= 3"', "limits no number", "variants <= 3"),
        ("[tool.irlens.limits]\na = 3", "limits.a is not a table", "tokens = 1_000_000"),
        ('[tool.irlens.limits]\na = {n = "many"}', "a: n is 'many', and not a size", "1_000_000"),
        ("[tool.irlens.limits]\na = {n = true}", "a: n is True, and not a size", "1_000_000"),
        ("[tool.irlens.launches]\na = {n = [1]}", r"a: n is \[1\]", "1,16,1000..2000"),
        ('[tool.irlens.budgets]\na = ["launchable", "occupency > 1"]',
         r"pyproject.toml:2:21: unknown figure 'occupency'", r'a = .*\n {20}\^$'),
        ('[tool.irlens.budgets]\na = [\n  "registers <",\n]', r"pyproject.toml:3:", r"\^$"),
        ('[tool.irlens.budgets]\na = "occupency \\u003e 1"',
         r"toml: tool.irlens.budgets.a: unknown figure", r"^occupency > 1\n\^$"),
        ("[tool.irlens.budgets]\na = 3", r"tool.irlens.budgets.a is not a condition", "write"),
        ('[tool.irlens.budgets]\na.b.c = "launchable"', r"budgets.a.b is not a condition", "write"),
        ("[tool.irlens]\nbudgets = 3", r"Expected `object`", None),
        ('[tool.irlens.budget]\na = "launchable"', r"tool.irlens: unknown key 'budget'", "budgets"),
        ("[tool.irlens.check]\nkernals = []", r"check: unknown key 'kernals'", "kernels"),
        ('[tool.irlens.check]\nkernels = "softmax"', r"Expected `array`.*kernels", None),
        ("[tool.irlens.check\n", r"line 1", None),
    ],
)  # fmt: skip
def test_mistakes(text: str, told: str, hint: str | None, tmp_path: Path) -> None:
    with pytest.raises(IrlensError, match=told) as caught:
        find(tmp_path, text)
    assert "\n" not in caught.value.message
    if hint is None:
        assert caught.value.hint is None
    else:
        assert caught.value.hint is not None
        assert re.search(hint, caught.value.hint), caught.value.hint
