"""The traffic of a launch alone."""

from typing import Any

from irlens.analyze.traffic import survey
from irlens.isa.mlir import Module
from irlens.model.traffic import Traffic


def count(
    module: Module, arguments: dict[str, Any], grid: tuple[int, int, int], **options: Any
) -> Traffic:
    """Return the traffic of a launch; the options are those of a survey."""
    return survey(module, arguments, grid, **options).traffic
