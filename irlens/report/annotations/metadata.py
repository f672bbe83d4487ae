"""Triton's metadata in lines, which its file is not: one key a line, by name."""

import msgspec


def in_lines(text: str) -> str:
    """Return a JSON object with a key on every line, as the comparison counts them.

    Values are left as they are written. What is no object is returned as it is.
    """
    try:
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return text
    told = (
        msgspec.json.encode(key) + b": " + msgspec.json.format(bytes(value), indent=0)
        for key, value in sorted(values.items())
    )
    return (b"{" + b",\n ".join(told) + b"}\n").decode()
