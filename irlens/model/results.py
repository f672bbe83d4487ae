"""The kinds of results that irlens writes, and the record of each."""

from typing import Literal, TypeAlias

import msgspec

#: What can be written: reports of captures, comparisons of reports, comparisons of a stage's text,
#: a check, a sweep, a scan, the ledgers of a program, a suggestion, variants of kernels, the passes
#: of a compilation, those of two compilations.
Kind: TypeAlias = Literal[
    "reports", "comparisons", "code", "check", "sweep", "scan", "ledgers", "suggestion", "variants",
    "passes", "passes-diff",
]  # fmt: skip


def record_of(kind: Kind) -> type[msgspec.Struct]:
    """Return the record that JSON of a kind is."""
    match kind:
        case "comparisons":
            from irlens.model.comparison import Comparisons

            return Comparisons
        case "code":
            from irlens.model.code import CodeComparisons

            return CodeComparisons
        case "check":
            from irlens.model.check import Check

            return Check
        case "sweep":
            from irlens.model.sweep import Sweep

            return Sweep
        case "scan":
            from irlens.model.scan import Scan

            return Scan
        case "ledgers":
            from irlens.model.ledger import Ledgers

            return Ledgers
        case "suggestion":
            from irlens.model.suggestion import Suggestion

            return Suggestion
        case "variants":
            from irlens.model.variants import Variants

            return Variants
        case "passes":
            from irlens.model.passes import Passes

            return Passes
        case "passes-diff":
            from irlens.model.passes import PassesDiff

            return PassesDiff
        case "reports":
            from irlens.model.report import Report

            return Report
