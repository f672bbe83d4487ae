"""Ways to damage the bytes of a file, text or binary."""

import random
import re
from collections.abc import Callable

SIZE = 4_000_000  # of a damaged file
_TEXT = re.compile(rb"\w+|[^\w\s]|\s+")
_NUMBER = re.compile(rb"\d+")
_ODD = (
    "\u200f\u2028".encode(),
    b"\0", b"\x1b]0;x\x07", b"\xff\xfe", b"\xc3(", "\u202e".encode(), b"\r", b"\v", b"\x85",
    b"=1+1", b"::error::x", b"<script>", b"](javascript:x)", b"|", b"`", b'"', b"{", b"}",
    b"(", b"<",
    b"%", b"@", b"..", b"/../../../etc/passwd", b"*/", b"/*", b"//",
)  # fmt: skip
_NUMBERS = (
    b"0", b"-1", b"4294967295", b"4294967296", b"18446744073709551616", b"9" * 400, b"9" * 5000,
    b"1e999", b"0x7fffffffffffffff", b"000", b"3.5", b"NaN", b"1048576", b"1048576", b"65536",
    b"1000000007", b"100000000000", b"1" + b"0" * 18, "\u0663".encode(), b"1_0",
)  # fmt: skip

Mutation = Callable[[bytes, random.Random], bytes]


def flip(data: bytes, rng: random.Random) -> bytes:
    """Flip a few bits."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 4, 40))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Leave out the end, or a part."""
    start = rng.randrange(len(data))
    return data[:start] + (data[rng.randrange(start, len(data)) :] if rng.random() < 0.5 else b"")


def repeat(data: bytes, rng: random.Random) -> bytes:
    """Repeat a part: once, or until the file is large."""
    start = rng.randrange(len(data))
    part = data[start : start + rng.choice((1, 8, 100, 2000))]
    count = rng.choice((1, 10, 10_000, 300_000))
    return data[:start] + part * min(count, SIZE // len(part)) + data[start:]


def swell(data: bytes, rng: random.Random) -> bytes:
    """Replace a few numbers."""
    numbers = list(_NUMBER.finditer(data[:1_000_000]))
    if not numbers:
        return flip(data, rng)
    out, chosen = data, sorted(rng.sample(numbers, min(len(numbers), rng.choice((1, 3, 30)))),
                               key=lambda match: -match.start())  # fmt: skip
    for match in chosen:
        out = out[: match.start()] + rng.choice(_NUMBERS) + out[match.end() :]
    return out


def swap(data: bytes, rng: random.Random) -> bytes:
    """Exchange tokens."""
    tokens = _TEXT.findall(data[:1_000_000])
    for _ in range(rng.choice((1, 1, 5, 100))):
        one, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return b"".join(tokens)


def insert(data: bytes, rng: random.Random) -> bytes:
    """Insert odd characters, one or very many."""
    at = rng.randrange(len(data))
    odd = rng.choice(_ODD)
    return data[:at] + odd * rng.choice((1, 1, 3, 1000, 200_000)) + data[at:]


def rename(data: bytes, rng: random.Random) -> bytes:
    """Give a name in the file another, odd one, everywhere."""
    names = list(set(re.findall(rb"[A-Za-z_][\w.]{3,}", data[:300_000])))
    if not names:
        return flip(data, rng)
    return data.replace(rng.choice(names), rng.choice(_ODD) * rng.choice((1, 3, 2000)))


def shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    """Move, drop and repeat lines."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 10, 200))):
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.choice((0, 1, 2))):
            lines.insert(rng.randrange(len(lines) + 1), line)
        if not lines:
            break
    return b"\n".join(lines)


def replace_integers(data: bytes, rng: random.Random) -> bytes:
    """Overwrite words of a binary with extreme ones, more often in its header."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 10))):
        size = rng.choice((2, 4, 8))
        end = max(1, (64 if rng.random() < 0.5 else len(out)) - size)
        at = rng.randrange(end)
        value = rng.choice(
            (0, 1, (1 << 8 * size) - 1, 1 << (8 * size - 1), rng.getrandbits(8 * size))
        )
        out[at : at + size] = value.to_bytes(size, "little")
    return bytes(out)


def nest(data: bytes, rng: random.Random) -> bytes:
    """Open brackets that never close."""
    at = rng.randrange(len(data))
    opening = rng.choice((b"[", b"{", b"(", b"<", b'{"a":', b"{\n", b"/*"))
    return data[:at] + opening * 100_000 + data[at:]


TEXT: tuple[Mutation, ...] = (
    flip, cut, repeat, swell, swell, swap, insert, rename, shuffle_lines, nest,
)  # fmt: skip
BINARY: tuple[Mutation, ...] = (flip, cut, repeat, insert, replace_integers, replace_integers)
