"""Time the comparison of two large stages, in total and by step.

    python benchmarks/code_diff.py

Each side is 2.7 MB of LLVM IR, the largest stage seen in practice: a sample's function, repeated.
Times are CPU time, so that other processes have little influence.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path

from irlens.analyze.capture_code import CaptureCode
from irlens.diff.code import Rows, compare_code
from irlens.diff.code.alignment import align
from irlens.diff.code.correspondence import Correspondence, Declarations
from irlens.diff.code.stage import read_stages
from irlens.model.capture import Capture, Stage
from irlens.model.config import Config

CAPTURES = Path(__file__).resolve().parents[1] / "samples" / "captures"
BYTES = 2_700_000
TARGET_SECONDS = 5.0
_CONFIG = Config(num_warps=4, num_stages=1, num_ctas=1, maxnreg=None, constexprs={}, args={})


def grown(sample: str) -> str:
    """Return a sample's LLVM IR with its kernel repeated up to ``BYTES``."""
    (path,) = (CAPTURES / sample).glob("*.llir")
    text = path.read_text()
    start = text.index("define ")
    stop = text.index("\n}\n", start) + 3
    body = text[start:stop]
    copies = [
        re.sub(r"(@\w+_kernel)\(", rf"\g<1>_{n}(", body, count=1)
        for n in range((BYTES - len(text)) // len(body) + 1)
    ]
    return text[:stop] + "\n".join(copies) + text[stop:]


def renumbered(text: str) -> str:
    """Return the same code with other value numbers."""
    text = re.sub(r"%(\d+)\b", lambda m: f"%{int(m[1]) + 7}", text)
    return re.sub(r"^(\d+):", lambda m: f"{int(m[1]) + 7}:", text, flags=re.MULTILINE)


def capture(text: str) -> Capture:
    """Return a capture with this LLVM IR as its only stage."""
    stages = {"llir": Stage("llir", content=text.encode())}
    return Capture(kernel="kernel", target=None, config=_CONFIG, stages=stages)


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def split(before: Capture, after: Capture) -> str:
    """Return the time of each step, in order."""
    ours, theirs = read_stages(CaptureCode(before), CaptureCode(after), "llir")
    one, two = ours.code.statements, theirs.code.statements
    pairs = align(ours, theirs)
    values = Correspondence(one, two, pairs)
    taken = {
        "reading": seconds(lambda: read_stages(CaptureCode(before), CaptureCode(after), "llir")),
        "aligning": seconds(lambda: align(ours, theirs)),
        "declarations": seconds(lambda: Declarations(one, two)),
        "names": seconds(lambda: Correspondence(one, two, pairs)),
        "rows": seconds(lambda: Rows(one, two, values).ordered(pairs)),
    }
    return ", ".join(f"{what} {each:.2f} s" for what, each in taken.items())


def main() -> None:
    """Print the times."""
    spill, softmax = grown("spill-h100"), grown("softmax-h100")
    cases = {
        "renumbered": (spill, renumbered(spill)),
        "one operation in 50 changed": (spill, re.sub(r"(?m)^(  %\d*37 = )fadd", r"\1fsub", spill)),
        "unrelated": (spill, softmax),
    }
    for name, (before, after) in cases.items():
        one, two = capture(before), capture(after)
        start = time.process_time()
        compare_code(CaptureCode(one), CaptureCode(two), "llir")
        taken = time.process_time() - start
        verdict = "within" if taken < TARGET_SECONDS else "BEYOND"
        print(f"{name}: {taken:.2f} s, {verdict} {TARGET_SECONDS:g} s")
        print(f"    {split(one, two)}")


if __name__ == "__main__":
    main()
