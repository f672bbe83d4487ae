"""mnemonics.py: writes memory_mnemonics.csv, from the LLVM that Triton brings along.

The names are those of LLVM's assembler, which keeps each behind its length; the processors and the
registers of the data are those that it accepts. Only what fewer bytes than a register take, and
what has no fixed size, is told by the name.
"""

import csv
import re
import subprocess
import sys
from pathlib import Path

from triton._C import libtriton

PROCESSORS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250")
FAMILIES = (
    rb"global|flat|buffer|tbuffer|scratch|ds|image|tensor|cluster|s_load|s_buffer|s_scratch|s_store"
    rb"|s_atomic"
)
#: No accesses to memory: caches, messages between lanes, and counters of waves.
NO_ACCESS = re.compile(
    r".*(inv|_wb|prefetch|wbl2|wbinvl1)|ds_(append|consume|nop|gws|ordered|swizzle|b?permute|bvh"
    r"|(add|sub)_gs|param|direct)|tensor_(save|stop)|cluster_dim"
)
NARROW = {"byte": 1, "short": 2, "8": 1, "16": 2}
ASSEMBLE = """
import sys
from triton._C.libtriton import amd, llvm
llvm.init_targets()
amd.assemble_amdgcn(sys.stdin.read(), "amdgcn-amd-amdhsa", sys.argv[1], "")
"""


def refused(lines: list[str], processor: str) -> dict[str, str]:
    """Return the lines that the assembler does not accept, with its reasons."""
    command = [sys.executable, "-c", ASSEMBLE, processor]
    text = "\n".join(lines) + "\n"
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    told = said.stderr.splitlines()
    return {line.strip(): error for error, line in zip(told, told[1:]) if "error: " in error}


def names() -> list[str]:
    """Return LLVM's mnemonics of instructions that access memory."""
    table = Path(libtriton.__file__).read_bytes()
    pattern = rb"([\x04-\x3c])((?:" + FAMILIES + rb")_[a-z0-9_]{1,60})"
    found = {m[2][: m[1][0]].decode() for m in re.finditer(pattern, table) if len(m[2]) >= m[1][0]}
    return sorted(name for name in found if not NO_ACCESS.match(name))


def direction(name: str) -> str:
    space = "LDS " if name.startswith("ds_") else "scalar " if name.startswith("s_") else ""
    if name.startswith("scratch_"):
        space = "scratch "
    if name.startswith("image_"):
        return "image"
    if not space and re.search(r"_load_(async_to_)?(lds|to_lds)", name):
        return "load to LDS"
    if not space and ("_from_lds" in name):
        return "store from LDS"
    kind = re.search(r"_(load|store)(?!xchg)|ds_(read|write)", name)
    if "atomic" in name or kind is None:
        return f"{space}atomic"
    return space + {"read": "load", "write": "store"}.get(kind[1] or kind[2], kind[1])


def span(file: str, first: int, count: int) -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def forms(name: str, count: int) -> list[str]:
    """Return how an instruction may be written whose data are in so many registers."""
    data, second = span("v", 0, count), span("v", 20, count)
    if name.startswith("s_"):
        base = "s[8:11]" if name.startswith("s_buffer") else "s[8:9]"
        return [f"{name} {span('s', 32, count)}, {base}, 0x0"]
    if name.startswith("ds_"):
        if direction(name) == "LDS load":
            return [f"{name} {data}, v40"]
        if "_rtn" in name:
            return [f"{name} {data}, v40, {second}", f"{name} {data}, v40, {second}, {second}"]
        return [f"{name} v40, {data}", f"{name} v40, {data}, {second}"]
    if name.startswith("buffer_"):
        return [f"{name} {data}, v40, s[8:11], {base} offen" for base in ("0", "null")]
    address, off = ("v40", ", off") if name.startswith("scratch") else ("v[40:41]", ", off")
    off = "" if name.startswith("flat_") else off
    order = (data, address) if "load" in direction(name) else (address, data)
    return [f"{name} {order[0]}, {order[1]}{off}"]


def size(name: str, registers: int | None) -> int | None:
    """Return the bytes per lane in memory."""
    if re.search(r"_format_|^image_|^tensor_|_block$", name):
        return None
    if "atomic" not in name and not re.search(r"_(tr\d*|b64_tr|b96_tr)_", name):
        narrow = re.search(r"_[su]?(byte|short)(_|$)|_[bui](8|16)(_|$)", name)
        if narrow:
            return NARROW[narrow[1] or narrow[3]]
    if "lds" in name or "addtid" in name:  # no register has the data, or the form is another
        widths = re.search(r"_dword(x[34])?|_b(\d+)$", name)
        return int(widths[2]) // 8 if widths[2] else 4 * int((widths[1] or "x1")[1:])
    if registers is None:  # a barrier, or exchanges of two values
        return (1 if "barrier" in name else 2) * (8 if name.endswith("b64") else 4)
    values = 1 / 2 if re.search(r"atomic_f?cmpswap", name) else 1
    values *= 2 if re.match(r"ds_(write2|store_2addr)", name) else 1
    return int(4 * registers * values)


def main() -> None:
    known = names()
    supported: dict[str, list[str]] = {name: [] for name in known}
    registers: dict[str, int] = {}
    for processor in PROCESSORS:
        bad = refused(known, processor)
        here = [n for n in known if "not supported" not in bad.get(n, "") and "invalid instruction"
                not in bad.get(n, "")]  # fmt: skip
        tried = {line: (name, count) for name in here for count in (1, 2, 3, 4, 6, 8, 16)
                 for line in forms(name, count)}  # fmt: skip
        bad = refused(list(tried), processor)
        for name in here:
            supported[name].append(processor)
        registers.update(dict(tried[line] for line in tried if line not in bad))
    with (Path(__file__).parent / "memory_mnemonics.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["mnemonic", "direction", "bytes per lane", "processors"])
        for name, processors in supported.items():
            if processors:
                moved = size(name, registers.get(name))
                writer.writerow([name, direction(name), moved or "", " ".join(processors)])


if __name__ == "__main__":
    main()
