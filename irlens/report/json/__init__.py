"""JSON: the public interface, exactly the records of ``irlens.model``."""

import msgspec

from irlens.model.report import Report

EXTENSION = "json"


def written(document: object) -> str:
    """Return a record, or a list of them, as JSON: keys sorted, two spaces deep."""
    encoded = msgspec.json.encode(document, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def schema() -> str:
    """Return the JSON Schema (draft 2020-12) of one report, generated from the records."""
    described = msgspec.json.schema(Report)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    encoded = msgspec.json.encode(described, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
