"""Findings: one file each, with its code, its documentation and its logic.

A check is a module of this folder, without a leading underscore, that has

* ``CODE`` ("IRL" and three digits), ``NAME`` and ``SEVERITY``,
* a docstring in Markdown: one line that says what is found, then what it means, an example and
  what to do; ``irlens explain`` prints it, and
* ``find(facts)``: the function that looks for it, and stays silent where a fact is missing.

The first digit of a code is the family: 1 resources and occupancy, 2 software pipelining,
3 memory accesses, 4 computation, 5 launch.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Protocol, cast

from irlens.analyze.facts import Facts
from irlens.model.errors import UnknownNameError
from irlens.model.report import SEVERITIES, Finding, Severity
from irlens.model.rule import Rule


class Check(Protocol):
    """What a module in this folder offers."""

    __name__: str
    CODE: str
    NAME: str
    SEVERITY: Severity

    def find(self, facts: Facts) -> Iterator[Finding]:
        """Yield what is found."""


@cache
def checks() -> tuple[Check, ...]:
    """Return every check, by code."""
    names = [found.name for found in pkgutil.iter_modules(__path__) if found.name[0] != "_"]
    modules = [cast(Check, importlib.import_module(f"{__name__}.{name}")) for name in names]
    return tuple(sorted(modules, key=lambda check: check.CODE))


def run(facts: Facts) -> list[Finding]:
    """Return what all checks find: the most severe first, then by code and place.

    What the copies of one loop have in common, where the compiler made several of it, is said
    once, of the first.
    """
    ranked = sorted((found for check in checks() for found in check.find(facts)), key=_rank)
    first: dict[tuple[object, ...], Finding] = {}
    for found in ranked:
        first.setdefault((found.code, found.message, found.hint, found.source), found)
    return list(first.values())


def find_check(name: str) -> Check:
    """Return the check of a code ("IRL201") or name, in any case.

    Raises:
        UnknownNameError: There is none.
    """
    for check in checks():
        if name.lower() in (check.CODE.lower(), check.NAME):
            return check
    known = [known for check in checks() for known in (check.CODE, check.NAME)]
    raise UnknownNameError("finding", name, known)


def summary(check: Check) -> str:
    """Return the first line of a check's documentation: what is found, in one sentence."""
    return (inspect.getdoc(check) or "").partition("\n")[0]


def documentation(check: Check) -> str:
    """Return a check's documentation: Markdown, its title first, ending in a newline."""
    return f"# {check.CODE} {check.NAME} ({check.SEVERITY})\n\n{inspect.getdoc(check)}\n"


def find_rule(code: str) -> Rule | None:
    """Return what the findings of a code mean; ``None`` where no check has it."""
    for check in checks():
        if code == check.CODE:
            return Rule(
                code=code,
                name=check.NAME,
                severity=check.SEVERITY,
                summary=summary(check),
                documentation=documentation(check),
            )
    return None


def _rank(finding: Finding) -> tuple[int, str, str, int, str, int, str]:
    source = finding.source
    return (
        SEVERITIES.index(finding.severity),
        finding.code,
        source.file if source else "",
        source.line if source else 0,
        finding.stage or "",
        finding.line or 0,
        finding.message,
    )
