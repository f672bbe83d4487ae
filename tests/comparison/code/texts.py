"""Stages to compare, and what can be done to their text that does, or does not, mean anything."""

import lzma
import re
from functools import cache
from pathlib import Path
from random import Random

from irlens.comparison.code import compare_code
from irlens.model.capture import Capture, Stage
from irlens.model.code import CodeComparison
from irlens.model.config import Config

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "samples" / "captures"
#: Enough for every stage and vendor; the others would only take longer.
NAMES = ("softmax-h100", "softmax-mi300x", "matmul-a100", "matmul_tma-h100")
SASS = ROOT / "tests" / "data" / "sass"
_CONFIG = Config(
    num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={}
)


@cache
def texts() -> dict[str, tuple[str, str]]:
    """Return texts by name: the stage of each, and the text."""
    found = {
        f"{path.parent.name}.{path.suffix[1:]}": (path.suffix[1:], path.read_text())
        for name in NAMES
        for path in sorted((CAPTURES / name).iterdir())
        if path.suffix[1:] in ("source", "ttir", "ttgir", "llir", "ptx", "amdgcn")
    }
    for name in ("sm75_softmax", "sm90_softmax", "sm100_softmax"):
        found[f"{name}.sass"] = ("sass", lzma.open(SASS / f"{name}.sass.xz", "rt").read())
    return found


def capture(stage: str, text: str, kernel: str = "kernel") -> Capture:
    stages = {stage: Stage(stage, content=text.encode())}
    return Capture(kernel=kernel, target=None, config=_CONFIG, stages=stages)


def compared(stage: str, before: str, after: str) -> CodeComparison:
    return compare_code(capture(stage, before), capture(stage, after), stage)


def moved(found: CodeComparison) -> tuple[set[int], set[int]]:
    """Return the lines of both sides that are not the same."""
    rows = [row for hunk in found.hunks for row in hunk.rows if row.kind != "same"]
    return (
        {row.before_line for row in rows if row.before_line is not None},
        {row.after_line for row in rows if row.after_line is not None},
    )


def disguised(stage: str, text: str, random: Random) -> str:
    """Return the same code with other names, locations, offsets and comments."""
    return _DISGUISES[stage](text, random)


def _shuffled(text: str, name: str, random: Random) -> str:
    """Exchange the names of a kind: the text's own, so that all of them stay well formed."""
    there = sorted(set(re.findall(name, text)))
    other = dict(zip(there, random.sample(there, len(there)), strict=True))
    return re.sub(name, lambda m: other[m.group()], text)


def _mlir(text: str, random: Random) -> str:
    text = re.sub(r'(\.py":)(\d+):(\d+)', lambda m: f"{m[1]}{int(m[2]) + 7}:1", text)
    text = re.sub(r"#loc(\d+)", lambda m: f"#loc{int(m[1]) + 40}", text)
    text = text.replace("/opt/irlens", "/home/x")
    # Aliases are sorted by name: other names, another order.
    aliases = sorted(set(re.findall(r"^#(?!loc)\w+(?= = )", text, re.MULTILINE)))
    heads = [line for line in text.split("\n") if re.match(r"#(?!loc)\w+ = ", line)]
    rest = [line for line in text.split("\n") if not re.match(r"#(?!loc)\w+ = ", line)]
    random.shuffle(heads)
    text = "\n".join([*heads, *rest])
    new = {a: f"#layout{n}" for n, a in enumerate(random.sample(aliases, len(aliases)))}
    text = re.sub(r"#(?!loc)\w+\b(?![.<])", lambda m: new.get(m.group(), m.group()), text)
    values = sorted(set(re.findall(r"%[\w$-]*\w", text)))
    other = {v: f"%v{n}" for n, v in enumerate(random.sample(values, len(values)))}
    return re.sub(r"%[\w$-]*\w", lambda m: other[m.group()], text)


def _llir(text: str, random: Random) -> str:
    shift, metadata = random.randrange(1, 90), random.randrange(1, 90)
    text = re.sub(r"%(\d+)\b", lambda m: f"%{int(m[1]) + shift}", text)
    text = re.sub(r"^(\d+):", lambda m: f"{int(m[1]) + shift}:", text, flags=re.MULTILINE)
    text = re.sub(r"!(\d+)\b", lambda m: f"!{int(m[1]) + metadata}", text)
    text = re.sub(r"line: \d+", "line: 1", text)
    return text.replace("/opt/irlens", "/home/x").replace("; preds", ";  preds")


def _ptx(text: str, random: Random) -> str:
    for kind in ("%r", "%rd", "%p"):
        text = _shuffled(text, rf"{kind}\d+\b", random)
    text = _shuffled(text, r"\$L__BB\d+_\d+", random)
    text = re.sub(r"(\.loc\s+\d+) \d+ \d+.*", r"\1 3 4", text)
    return text.replace("/opt/irlens", "/home/x").replace("softmax.py:", "other.py:")


def _sass(text: str, random: Random) -> str:
    shift = random.choice((8, 16, 24)) if "R250" not in text else 0
    text = re.sub(r"(?<![\w.])R(\d+)\b", lambda m: f"R{int(m[1]) + shift}", text)
    text = re.sub(r"(?<![\w.])UR(\d+)\b", lambda m: f"UR{(int(m[1]) + 4) % 60}", text)
    text = text.replace(".reuse", "")
    text = re.sub(r"\.L_x_(\d+)", lambda m: f".L_x_{int(m[1]) + 11}", text)
    text = re.sub(r"line \d+", "line 1", text)
    return re.sub(r"/\*([0-9a-f]{4})\*/", lambda m: f"/*{int(m[1], 16) + 32:04x}*/", text)


def _amdgcn(text: str, random: Random) -> str:
    shift = random.choice((2, 8, 30))

    def moved(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda n: str(int(n.group()) + shift), match.group())

    text = re.sub(r"\b[vsa](?:\d+\b|\[\d+:\d+\])", moved, text)
    text = _shuffled(text, r"\.LBB\d+_\d+", random)
    text = re.sub(r"(\.loc\s+\d+) \d+ \d+", r"\1 3 4", text)
    return re.sub(r";.*", "; said otherwise", text)


_DISGUISES = {
    "source": _mlir, "ttir": _mlir, "ttgir": _mlir, "llir": _llir, "ptx": _ptx, "sass": _sass,
    "amdgcn": _amdgcn,
}  # fmt: skip
