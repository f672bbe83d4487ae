"""The kinds of results that irlens writes, and the record of each."""

import importlib
from typing import Literal, TypeAlias

import msgspec

#: What can be written: reports of captures, comparisons of reports, comparisons of a stage's text,
#: a check, a sweep, a scan, the ledgers of a program, a suggestion, variants of kernels, the passes
#: of a compilation, those of two compilations, explained findings, a layout, limits.
Kind: TypeAlias = Literal[
    "reports", "comparisons", "code", "check", "sweep", "scan", "ledgers", "suggestion", "variants",
    "passes", "passes-diff", "explanations", "layout", "limits",
]  # fmt: skip

#: The record of each kind: its module in ``irlens.model``, its name, and what to call one.
_RECORDS: dict[Kind, tuple[str, str, str]] = {
    "reports": ("report", "Report", "report"),
    "comparisons": ("comparison", "Comparisons", "comparison"),
    "code": ("code", "CodeComparisons", "comparison of code"),
    "check": ("check", "Check", "check"),
    "sweep": ("sweep", "Sweep", "sweep"),
    "scan": ("scan", "Scan", "scan"),
    "ledgers": ("ledger", "Ledgers", "ledger of traffic"),
    "suggestion": ("suggestion", "Suggestion", "suggestion"),
    "variants": ("variants", "Variants", "list of variants"),
    "limits": ("limits", "Limits", "list of limits"),
    "passes": ("passes", "Passes", "list of passes"),
    "passes-diff": ("passes", "PassesDiff", "comparison of passes"),
    "explanations": ("why", "Explanations", "list of explanations"),
    "layout": ("layout", "LayoutDrawing", "layout"),
}
KINDS = tuple(_RECORDS)


def record_of(kind: Kind) -> type[msgspec.Struct]:
    """Return the record that JSON of a kind is, of which help loads none."""
    module, name, _ = _RECORDS[kind]
    record: type[msgspec.Struct] = getattr(importlib.import_module(f"irlens.model.{module}"), name)
    return record


def kind_of(record: type) -> Kind:
    """Return the kind of result whose record a class is."""
    return next(kind for kind, (_, name, _) in _RECORDS.items() if name == record.__name__)


def name_of(kind: Kind) -> str:
    """Return what to call a result of a kind: "ledger of traffic"."""
    return _RECORDS[kind][2]
