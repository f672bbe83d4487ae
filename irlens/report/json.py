"""JSON: the public interface, exactly the records of ``irlens.model``."""

from collections.abc import Sequence

import msgspec

from irlens.model.comparison import Comparisons
from irlens.model.report import Report
from irlens.report import View

EXTENSION = "json"


def render(reports: Sequence[Report], view: View) -> str:
    """Return one report as an object, several as an array; keys sorted, two spaces deep."""
    return _written(reports[0] if len(reports) == 1 else list(reports))


def render_comparison(comparisons: Comparisons, view: View) -> str:
    """Return one object, however many were compared; keys sorted, two spaces deep."""
    return _written(comparisons)


def _written(document: object) -> str:
    encoded = msgspec.json.encode(document, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def schema() -> str:
    """Return the JSON Schema (draft 2020-12) of one report, generated from the records."""
    described = msgspec.json.schema(Report)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    encoded = msgspec.json.encode(described, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
