"""Text: untrusted text made safe to show, numbers with their units, lists in brackets."""

import json
import re
from collections.abc import Sequence

# C0 and C1 controls and DEL start or are terminal escape sequences; the bidirectional controls
# reorder what a reader sees (CVE-2021-42574; all of Unicode's property Bidi_Control, and the
# separators that some end a line at). Characters without width make names that differ look equal,
# and hide text from people that programs read. Newline and tab are layout and stay, and so do the
# joiners of scripts and emoji.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""Return ``text`` with every character escaped that a terminal obeys or does not show.

    Escape becomes ``\x1b``, a right-to-left override ``\u202e``; newlines and tabs stay.
    """
    return _UNSAFE.sub(lambda match: _escaped(ord(match[0])), text)


def printable_json(text: str) -> str:
    r"""Return JSON with the same value, its strings safe to show on a terminal: ``\u202e``."""
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def printable_line(text: str) -> str:
    r"""Return ``text`` safe to show and on one line: newlines become ``\n``."""
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def clipped(text: str, length: int) -> str:
    """Return ``text``, with its middle replaced by an ellipsis if it is longer than ``length``."""
    if len(text) <= length:
        return text
    tail = length // 4
    return f"{text[: length - tail - 3]} … {text[-tail:]}"


def percent(ratio: float) -> str:
    """Return 0.5 as "50 %", 0.09375 as "9.4 %"; never rounded to 0 or 100 %."""
    value = ratio * 100
    if abs(value - round(value)) < 1e-9:
        return f"{value:.0f} %"
    text = f"{value:.1f}"
    return f"{ {'0.0': '<0.1', '100.0': '>99.9'}.get(text, text) } %"


def count(value: int) -> str:
    """Return 12320 as "12,320"."""
    return f"{value:,}"


def size(value: int) -> str:
    """Return a number of bytes exactly: "12,320 B"."""
    return f"{value:,} B"


def rounded_size(value: int) -> str:
    """Return a number of bytes, rounded: "702 MB", "1.4 GB"; decimal units."""
    if value < 1000:
        return f"{value} B"
    scaled, units = value / 1000, ["kB", "MB", "GB", "TB"]
    while scaled >= 999.5 and len(units) > 1:
        scaled, units = scaled / 1000, units[1:]
    return f"{scaled:.0f} {units[0]}" if scaled >= 9.95 else f"{scaled:.1f} {units[0]}"


def short_size(value: int) -> str:
    """Return a number of bytes with three significant digits: "16.8 MB"; below 10 kB exactly."""
    if value < 10_000:
        return size(value)
    return f"{magnitude(value)}B"


def magnitude(value: int) -> str:
    """Return a number with three significant digits and its prefix: "137 G", "20.9 M", "12 "."""
    scaled, prefixes = float(value), ["", "k", "M", "G", "T", "P"]
    while scaled >= 999.5 and len(prefixes) > 1:
        scaled, prefixes = scaled / 1000, prefixes[1:]
    digits = 0 if scaled >= 99.95 or value < 1000 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{digits}f} {prefixes[0]}"


def signed(value: int) -> str:
    """Return a change with its sign, a real minus for negative ones: "+3", "−1,024"."""
    return f"{value:+,}".replace("-", "−")


def plural(value: int, noun: str) -> str:
    """Return "1 iteration", "3 iterations", "2 launches"."""
    ending = "" if value == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{value:,} {noun}{ending}"


def first_of(items: Sequence[object], most: int, between: str = ", ") -> str:
    """Return some of many items: "a, b and 3 more"."""
    left_out = len(items) - most
    more = f" and {count(left_out)} more" if left_out > 0 else ""
    return between.join(map(str, items[:most])) + more


def split_list(text: str, brackets: str = "()[]{}") -> list[str]:
    """Split ``"M, cdiv(N, 2)"`` at the commas that are outside brackets.

    Args:
        text: The list. Blanks around its items are stripped; an item may be empty.
        brackets: Pairs that hold an item together.
    """
    opening, closing = brackets[::2], brackets[1::2]
    items, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in opening) - (character in closing)
        if character == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    return [*items, text[start:].strip()]


def _escaped(code: int) -> str:
    width, letter = (2, "x") if code < 0x100 else (4, "u") if code < 0x10000 else (8, "U")
    return f"\\{letter}{code:0{width}x}"


def microseconds(us: float) -> str:
    """Return "12.6 µs", or "1.23 ms" for longer times."""
    return f"{three_digits(us)} µs" if us < 999.5 else f"{three_digits(us / 1000)} ms"


def three_digits(value: float) -> str:
    """Return a number with three significant digits where it has a fraction: "0.625", "1,365"."""
    if value < 0.9995:
        return f"{value:.3g}"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"
