"""Compiles kernels that are made to show a finding, and runs the rules on them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from irlens import gpus as arch
from irlens import rules
from irlens.analyze.facts import Facts
from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.model.capture import Capture, Disassembly
from irlens.model.config import ConstexprValue
from irlens.model.report import Finding
from irlens.report.inspection import Inspection

KERNELS = Path(__file__).parents[1] / "data" / "findings"

FactsOf: TypeAlias = Callable[..., Facts]
Look: TypeAlias = Callable[..., list[Finding]]


@pytest.fixture
def facts_of() -> FactsOf:
    """Compile a kernel and gather its facts.

    The kernel is a sample's name or ``file.py`` of ``tests/data/findings``; keywords are its
    constexprs and compile options.
    """

    def facts_of(
        kernel: str,
        target: str = "h100",
        *,
        args: dict[str, ConstexprValue] | None = None,
        sass: bool = False,
        **settings: ConstexprValue,
    ) -> Facts:
        gpu = arch.find(target)
        request = Request(
            kernel=str(KERNELS / kernel) if ".py" in kernel else kernel,
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=settings,
            args=args or {},
        )
        (entry,) = capture_entries(request)
        return _facts(entry, sass)

    return facts_of


@pytest.fixture
def look(facts_of: FactsOf) -> Look:
    """Compile a kernel as ``facts_of`` does, and return the findings of one code."""

    def look(code: str, *args: object, **options: object) -> list[Finding]:
        (rule,) = (each for each in rules.all_rules() if code == each.CODE)
        facts = facts_of(*args, **options)
        with pytest.MonkeyPatch.context() as patch:  # others may disassemble machine code
            patch.setattr(rules, "all_rules", lambda: (rule,))
            return rules.run(facts)

    return look


@cache  # the samples are looked at for every rule
def _facts(entry: Path, sass: bool) -> Facts:
    (variant,) = load(entry)
    assert isinstance(variant, Capture)
    assert variant.target is not None
    # What the mark ``compiled_to`` leaves out is empty.
    stages = {name: each for name, each in variant.stages.items() if each.read()}
    return Inspection(replace(variant, stages=stages), Disassembly(sass)).facts
