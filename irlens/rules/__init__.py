"""Findings: one file each, with its code, its documentation and its logic.

A rule is a module of this package, without a leading underscore, that has

* ``CODE`` ("IRL" and three digits), ``NAME`` and ``SEVERITY``,
* a docstring in Markdown: one line that says what is found, then what it means, an example and
  what to do; ``irlens explain`` prints it, and
* ``NEEDS``, the facts without which it cannot look, by their names in ``report.missing_facts``, and
* ``find(facts)``, which yields a ``Match`` for each place it applies to, and none where it lacks
  a fact.

A rule that answers a question, too, which no report asks, has ``on_request(facts)``: what it finds
only where it is asked for by name. A rule whose finding goes with a change that an estimate of the
time tries has ``CAUSE``, too. One that could look at a part only has ``unseen(facts)``, which
returns why; "" is all.

The first digit of a code is the family: 1 resources and occupancy, 2 software pipelining,
3 memory accesses, 4 computation, 5 launch, 6 the capture itself.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, Protocol, cast

import msgspec

from irlens.analyze.facts import Facts
from irlens.model.report import SEVERITIES, Blame, Finding, Rule, Severity
from irlens.model.source import SourceLocation


class Place(NamedTuple):
    """A line of a stage, and the line of Python it belongs to. Prints as " at x.py:7"."""

    stage: str | None = None
    line: int | None = None
    source: SourceLocation | None = None

    def __str__(self) -> str:
        return f" at {self.source}" if self.source is not None else ""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A place that a rule applies to: a ``Finding`` without the rule's code and severity."""

    message: str
    hint: str
    place: Place = Place()
    blame: Blame | None = None


class RuleModule(Protocol):
    """The interface of a module in this package."""

    __name__: str
    CODE: str
    NAME: str
    SEVERITY: Severity
    NEEDS: tuple[str, ...]

    def find(self, facts: Facts) -> Iterator[Match]:
        """Yield the places that the rule applies to."""


@cache
def all_rules() -> tuple[RuleModule, ...]:
    """Return every rule, by code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]
    modules = [cast(RuleModule, importlib.import_module(f"{__name__}.{name}")) for name in names]
    return tuple(sorted(modules, key=lambda rule: rule.CODE))


def run(facts: Facts, code: str = "") -> list[Finding]:
    """Return the findings of all rules: the most severe first, then by code and place.

    Where the compiler made several copies of a loop, equal findings are reported once, for the
    first copy.

    Args:
        code: The code of the only rule to run.
    """
    asked = (rule for rule in all_rules() if code in ("", rule.CODE))
    ranked = sorted((each for rule in asked for each in _findings(rule, facts)), key=_rank)
    first: dict[tuple[object, ...], Finding] = {}
    for finding in ranked:
        first.setdefault((finding.code, finding.message, finding.hint, finding.source), finding)
    return list(first.values())


def answers(code: str, facts_of: Callable[[], Facts]) -> list[Finding]:
    """Return what the rule with a code finds only where it is asked for by name.

    Args:
        facts_of: Gathers the facts, if the rule answers at all.
    """
    rule = next(each for each in all_rules() if code == each.CODE)
    ask: Callable[[Facts], Iterator[Match]] | None = getattr(rule, "on_request", None)
    if ask is None:
        return []
    facts = facts_of()
    return sorted(_records(rule, facts, ask(facts)), key=_rank)


def not_looked_for(facts: Facts, missing: Mapping[str, str]) -> dict[str, str]:
    """Return the rules that could not look, or not everywhere, by code, and why.

    Args:
        missing: Why facts are unknown that rules need, by name.
    """
    reasons = {rule.CODE: _unseen(rule, facts, missing) for rule in all_rules()}
    return {code: reason for code, reason in reasons.items() if reason}


def _unseen(rule: RuleModule, facts: Facts, missing: Mapping[str, str]) -> str:
    lacking = (missing[need] for need in rule.NEEDS if need in missing)
    partly: Callable[[Facts], str] = getattr(rule, "unseen", lambda _: "")
    return next(lacking, "") or partly(facts)


def summary(rule: RuleModule) -> str:
    """Return the first line of a rule's documentation: what it finds, in one sentence."""
    return (inspect.getdoc(rule) or "").partition("\n")[0]


def documentation(rule: RuleModule) -> str:
    """Return a rule's documentation: Markdown, its title first, ending in a newline."""
    return f"# {rule.CODE} {rule.NAME} ({rule.SEVERITY})\n\n{inspect.getdoc(rule)}\n"


def find_rule(code: str) -> Rule | None:
    """Return the record of the rule with a code; ``None`` if there is none."""
    for rule in all_rules():
        if code == rule.CODE:
            return Rule(
                code=code,
                name=rule.NAME,
                severity=rule.SEVERITY,
                summary=summary(rule),
                documentation=documentation(rule),
            )
    return None


def _findings(rule: RuleModule, facts: Facts) -> Iterator[Finding]:
    yield from _records(rule, facts, rule.find(facts))


def _records(rule: RuleModule, facts: Facts, matches: Iterable[Match]) -> Iterator[Finding]:
    for match in matches:
        stage, line, source = match.place
        if stage == "ttir" and facts.ttir is not None:
            stage = facts.ttir.stage  # the ttgir, of a kernel that has no ttir
        yield Finding(
            code=rule.CODE,
            severity=rule.SEVERITY,
            message=match.message,
            hint=match.hint,
            stage=stage,
            line=line,
            source=source,
            cause=getattr(rule, "CAUSE", None),
            blame=match.blame,
        )


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
