"""What irlens's store holds twice, since it was asked for in two ways: one entry is enough."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from irlens.artifacts import store
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError


class Twins:
    """Captures of the store that have been seen."""

    def __init__(self) -> None:
        self._seen: defaultdict[bytes, dict[str, Capture]] = defaultdict(dict)

    def first(self, key: str, capture: Capture) -> str:
        """Return the key under which the same was seen first; its own, if it was not.

        Args:
            key: The capture's.
            capture: Any; what others than irlens keep is never taken for something else.
        """
        if capture.directory is None or not _is_stored(capture.directory):
            return key
        seen = self._seen[_told(capture)]
        for other, twin in list(seen.items()):
            if other == key:
                return key
            try:
                if _is_same(capture, twin):
                    return other
            except ArtifactError:  # deleted meanwhile
                del seen[other]
        seen[key] = capture
        return key


def _is_stored(directory: Path) -> bool:
    return directory.resolve().is_relative_to(store.captures().resolve())


def _told(capture: Capture) -> bytes:
    """Return what is known of captures without reading what they hold."""
    version = capture.manifest.triton_version if capture.manifest is not None else None
    told = (capture.kernel, capture.target, version, capture.config, list(capture.stages))
    return msgspec.msgpack.encode(told, order="sorted")


def _is_same(one: Capture, other: Capture) -> bool:
    """Whether all that two captures hold is the same, where what is known of them is.

    Raises:
        ArtifactError: A stage of ``other`` is gone.
    """
    return all(
        stage.read() == one.stages[name].read() for name, stage in other.stages.items()
    ) and list(_sources(one)) == list(_sources(other))


def _sources(capture: Capture) -> Iterator[tuple[str, str | None]]:
    return ((name, capture.python(name)) for name in capture.python_files)
