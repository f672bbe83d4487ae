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

#: The record of each kind: its module in ``irlens.model``, and its name.
_RECORDS: dict[Kind, tuple[str, str]] = {
    "check": ("check", "Check"),
    "code": ("code", "CodeComparisons"),
    "comparisons": ("comparison", "Comparisons"),
    "explanations": ("why", "Explanations"),
    "layout": ("layout", "LayoutDrawing"),
    "ledgers": ("ledger", "Ledgers"),
    "limits": ("limits", "Limits"),
    "passes": ("passes", "Passes"),
    "passes-diff": ("passes", "PassesDiff"),
    "reports": ("report", "Report"),
    "scan": ("scan", "Scan"),
    "suggestion": ("suggestion", "Suggestion"),
    "sweep": ("sweep", "Sweep"),
    "variants": ("variants", "Variants"),
}


def record_of(kind: Kind) -> type[msgspec.Struct]:
    """Return the record that JSON of a kind is, of which help loads none."""
    module, name = _RECORDS[kind]
    record: type[msgspec.Struct] = getattr(importlib.import_module(f"irlens.model.{module}"), name)
    return record
