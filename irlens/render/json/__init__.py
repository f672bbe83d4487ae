"""JSON: the public interface, exactly the records of ``irlens.model``."""

import msgspec

from irlens.render import Kind

EXTENSION = "json"


def written(document: object) -> str:
    """Return a record, or a list of them, as JSON: keys sorted, two spaces deep."""
    encoded = msgspec.json.encode(document, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def schema(kind: Kind = "reports") -> str:
    """Return the JSON Schema (draft 2020-12) of what is written, generated from the records.

    Args:
        kind: Of what; of "reports" it is one report's, of which several are written as an array.
    """
    described = msgspec.json.schema(_record(kind))
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return written(described)


def _record(kind: Kind) -> type[msgspec.Struct]:
    """The record that JSON of a kind is."""
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
        case "reports":
            from irlens.model.report import Report

            return Report
