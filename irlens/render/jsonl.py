"""JSON lines: a document a line, written as soon as it is there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from irlens.model.text import printable_json


def stream(_titles: Sequence[str], records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield each record as one line of JSON."""
    encoder = msgspec.json.Encoder()
    for record in records:
        yield printable_json(encoder.encode(record).decode()) + "\n"
