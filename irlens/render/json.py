"""JSON: the public interface, exactly the records of ``irlens.model``."""

import inspect
import re
from collections import Counter
from typing import Any

import msgspec

from irlens.figures import FIGURES, SWEEP_FIGURES, owner
from irlens.model.results import record_of
from irlens.model.text import printable_json
from irlens.render import Kind, Options


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return the record as JSON; of several reports an array, of a single one an object."""
    if kind == "reports":
        return to_json(subject[0] if len(subject) == 1 else list(subject))
    return to_json(subject)


#: Maps in the order of the kernel's parameters, which the keys of a record do not have.
_PARAMETERS = frozenset({"args", "constexprs"})


def to_json(document: object) -> str:
    """Return a record, or a list of them, as JSON, indented by two spaces.

    Keys are sorted, but for a kernel's arguments and constexprs, which keep their order.
    """
    return _formatted(msgspec.json.encode(_ordered(msgspec.to_builtins(document))))


def _ordered(value: Any) -> Any:
    """Return JSON's builtins with sorted keys."""
    if isinstance(value, dict):
        return {
            key: value[key] if key in _PARAMETERS else _ordered(value[key]) for key in sorted(value)
        }
    # The points of a curve hold no keys, and there may be a hundred thousand of them.
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict | list | tuple):
        return [_ordered(each) for each in value]
    return value


def _formatted(encoded: bytes) -> str:
    return printable_json(msgspec.json.format(encoded, indent=2).decode()) + "\n"


def schema(kind: Kind = "reports") -> str:
    """Return the JSON Schema (draft 2020-12) of a kind of result, generated from the records.

    Args:
        kind: The kind; of "reports" it is one report's, of which several are written as an array.
    """
    described = msgspec.json.schema(record_of(kind))
    for name, definition in described.get("$defs", {}).items():
        _describe(name, definition)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return _formatted(msgspec.json.encode(described, order="sorted"))


def _describe(record: str, definition: dict[str, Any]) -> None:
    """Give each property its own description: a figure its row's, others their attribute's."""
    text = inspect.cleandoc(definition.get("description", ""))
    summary, _, attributes = text.partition("\n\nAttributes:\n")
    described = {
        name: re.sub(r"\s+", " ", meaning).strip()
        for name, meaning in re.findall(r"(?m)^    (\w+): (.*(?:\n     .*)*)", attributes)
    }
    described |= _figures_of(record)
    if summary:
        definition["description"] = re.sub(r"(?<!\n)\n(?!\n)", " ", summary)
    for name, meaning in described.items():
        if name in definition.get("properties", {}):
            definition["properties"][name]["description"] = meaning
    if record == "Trial":
        _describe_sweep_figures(definition["properties"]["figures"])


def _figures_of(record: str) -> dict[str, str]:
    """Return the documentation of a record's figures, but of fields that several stages have."""
    held = [(owner(figure), figure.documentation) for figure in FIGURES]
    rows = [(one[1].name, text) for one, text in held if one and one[0].__name__ == record]
    times = Counter(name for name, _ in rows)
    return {name: text for name, text in rows if times[name] == 1}


def _describe_sweep_figures(definition: dict[str, Any]) -> None:
    """Name the figures of a sweep's configuration; absent ones are unknown, as in older sweeps."""
    values = next(each for each in definition["anyOf"] if each.get("type") == "object")
    del values["additionalProperties"]
    values["properties"] = {
        name: {
            "anyOf": [
                {"type": "number" if figure.unit in ("ratio", "factor", "us") else "integer"},
                {"type": "null"},
            ],
            "description": figure.documentation,
        }
        for name, figure in SWEEP_FIGURES.items()
    }
