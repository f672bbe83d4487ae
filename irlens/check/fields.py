"""The figures that a budget may speak of: those of the JSON report, by their names there.

A leaf's name alone is enough where it says which figure is meant ("registers"). Offered are exact
facts only, and nothing that has to be disassembled.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec import inspect

from irlens.model.comparison import Value
from irlens.model.config import Config, Vendor
from irlens.model.memory import SharedMemory
from irlens.model.pressure import StagePressure
from irlens.model.report import Occupancy, OccupancyLimits, Pipeline
from irlens.model.resources import Resources

#: What the path of a pipeline's figure starts with. The report has a list of these: a budget is
#: held against each.
PIPELINE = "pipeline."

_AMD = frozenset({"vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes"})
_NVIDIA = frozenset({
    "barriers", "constant_bytes", "tensor_memory_columns", "tensor_memory_bytes",
})  # fmt: skip
_STAGE_VENDORS: dict[str, Vendor] = {"pressure.ptx.": "nvidia", "pressure.amdgcn.": "amd"}
#: Where the records of the report hang, whether a leaf's name alone means the one there, and what
#: is left out: text, and what only says where something stands.
_RECORDS: tuple[tuple[str, type[msgspec.Struct], bool, frozenset[str]], ...] = (
    ("resources.", Resources, True, frozenset()),
    ("occupancy.", Occupancy, True, frozenset()),
    ("occupancy.limits.", OccupancyLimits, False, frozenset()),
    ("config.", Config, True, frozenset()),
    ("memory.", SharedMemory, False, frozenset({"peak_line", "reason"})),
    ("pressure.ptx.", StagePressure, False, frozenset({"line", "offset", "reason"})),
    ("pressure.amdgcn.", StagePressure, False, frozenset({"line", "offset", "reason"})),
    (PIPELINE, Pipeline, False, frozenset({"stage", "loop", "line", "reason"})),
)
_SHORT = {
    "occupancy": "occupancy.theoretical",
    "achieved": "pipeline.achieved_stages",
    "requested": "pipeline.requested_stages",
    "pipeline.achieved": "pipeline.achieved_stages",
    "pipeline.requested": "pipeline.requested_stages",
}
_SAMPLES: tuple[tuple[type[inspect.Type], Value], ...] = (
    (inspect.BoolType, True),
    (inspect.IntType, 1),
    (inspect.FloatType, 1.0),
    (inspect.StrType, "word"),
)


class Field(NamedTuple):
    """A figure.

    Attributes:
        path: Where the report has it, dotted.
        sample: A value of its type, to try an expression with.
        vendor: Whose GPUs have it; ``None`` for both.
        words: All that it can be, where these are words.
    """

    path: str
    sample: Value
    vendor: Vendor | None
    words: tuple[str, ...] = ()


@cache
def fields() -> dict[str, Field]:
    """Return the figures by every name that they may be called."""
    found: dict[str, Field] = {}
    for prefix, record, short, left_out in _RECORDS:
        for name, sample, words in _scalars(record):
            if name not in left_out:
                field = Field(prefix + name, sample, _vendor(prefix, name), words)
                found[field.path] = field
                if short:
                    found[name] = field
    found.update({short: found[path] for short, path in _SHORT.items()})
    return found


def _scalars(record: type[msgspec.Struct]) -> Iterator[tuple[str, Value, tuple[str, ...]]]:
    """Yield name, sample and words of each field that is one number, word or truth."""
    described = inspect.type_info(record)
    if not isinstance(described, inspect.StructType):
        return
    for field in described.fields:
        kind = field.type
        kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        known = [one for one in kinds if not isinstance(one, inspect.NoneType)]
        if len(known) != 1:
            continue
        if isinstance(known[0], inspect.LiteralType):
            words = tuple(map(str, known[0].values))
            yield field.name, words[0], words
        for wanted, sample in _SAMPLES:
            if isinstance(known[0], wanted):
                yield field.name, sample, ()


def _vendor(prefix: str, name: str) -> Vendor | None:
    if prefix == "resources.":
        return "amd" if name in _AMD else "nvidia" if name in _NVIDIA else None
    return _STAGE_VENDORS.get(prefix)
