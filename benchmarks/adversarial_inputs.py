"""Measure the processor time and memory that the worst inputs of each format cost.

    python benchmarks/adversarial_inputs.py [--megabytes 15] [--only TEXT]

Writes an artifact of the given size, or the largest that is not refused, for each format and each
pattern of what is costly to read (brackets, blanks, lines, commas, tokens, labels, registers,
loops, functions, ``.loc``, numbers), reads each in a process of its own as ``irlens inspect`` does,
and prints its figures: at the full size and, if that took a while, at half of it, with the factor
between the times (2 is linear).
``real`` repeats the body of a sample's kernel. The status is 1 if any took over 10 s or
1 GB.
"""

import argparse
import os
import resource
import signal
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import mutated_inputs as mutated  # type: ignore[import-not-found]

Pattern = Callable[[int], str]
#: Seconds below which the growth of the time says nothing.
_SOON = 0.7

_PTX = (
    ".version 8.4\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n.reqntid 128\n{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\n",
    "\nret;\n}\n",
)
_AMDGCN = (
    '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\n.globl k\n.type k,@function\nk:\n',
    "\ns_endpgm\n.Lfunc_end0:\n.size k, .Lfunc_end0-k\n.amdhsa_kernel k\n.end_amdhsa_kernel\n",
)
_LLIR = ("define void @k(ptr %0) {\n", "\n  ret void\n}\n")
_MLIR = (
    'module attributes {"ttg.num-warps" = 4 : i32} {\n  tt.func public @k(%arg0: !tt.ptr<f32>) {\n',
    "\n    tt.return\n  }\n}\n",
)
_BUFFER = "!ttg.memdesc<4x4xf16, #s, #smem, mutable>"
_SASS = (
    '.section .text.k,"ax",@progbits\n.text.k:\n',
    "\n        /*fffff0*/                   EXIT ;\n",
)


def _repeat(text: str) -> Pattern:
    return lambda size: text * (size // len(text))


def _count(template: str) -> Pattern:
    """Repeat a template with ``#`` replaced by the number of the repetition."""
    return lambda size: "".join(
        template.replace("#", str(each)) for each in range(size // (len(template) + 6))
    )


def _nested(opening: str, closing: str) -> Pattern:
    def make(size: int) -> str:
        count = size // (len(opening) + len(closing))
        return opening * count + closing * count

    return make


COMMON: dict[str, Pattern] = {
    "braces": _repeat("{"),
    "closed braces": _nested("{", "}"),
    "parentheses": _nested("(", ")"),
    "angles": _repeat("<"),
    "blanks": _repeat(" "),
    "newlines": _repeat("\n"),
    "commas": _repeat(","),
    "semicolons": _repeat(";"),
    "colons": _repeat("a:"),
    "token": _repeat("x"),
    "words": _repeat("x "),
    "quotes": _repeat('"'),
    "strings": _repeat('"" '),
    "numbers": _repeat("1 "),
    "slashes": _repeat("/"),
    "stars": _repeat("/*"),
    "line comments": _repeat("//\n"),
    "dots": _repeat(".\n"),
    "percents": _repeat("%"),
    "ats": _repeat("@"),
    "equals": _repeat("a=\n"),
}

PATTERNS: dict[str, tuple[tuple[str, str], dict[str, Pattern]]] = {
    "ptx": (
        _PTX,
        {
            "instructions": _repeat("add.s32 %r1,%r2,%r3;\n"),
            "scopes": _repeat("{}"),
            "labels": _count("L#:\n"),
            "labels and code": _count("L#:mov.b32 %r1,%r2;\n"),
            "branches": _count("L#:@%p1 bra L#;\n"),
            "loops": lambda size: _loops(size, "L{}:\n", "@%p1 bra L{};\n"),
            "forward": lambda size: _loops(size, "@%p1 bra L{};\n", "L{}:\n"),
            "registers": _count(".reg .b32 %q#;\n"),
            "live": _count("mov.b32 %q#,1;\n"),
            "loc": _repeat(".loc 1 1 1\n"),
            "inlined": _repeat(".loc 1 1 1, function_name f, inlined_at 1 1 1\n"),
            "functions": _count("}\n.func f#()\n{\nret;\n"),
            "entries": _count("}\n.entry f#()\n{\nret;\n"),
            "parameters": _count(".param .u64 p#;\n"),
            "shared": _count(".shared .b8 s#[16];\n"),
            "copies": _repeat(
                "cp.async.cg.shared.global [%r1],[%r2],16;\ncp.async.commit_group;\n"
            ),
            "waits": _repeat("cp.async.wait_group 1;\n"),
            "barriers": _repeat("mbarrier.try_wait.parity.shared.b64 %p1,[%r1],%r2;\n"),
            "operands": lambda size: "mov.b32 {" + "%r1," * (size // 4) + "%r1},%r2;\n",
            "one instruction": lambda size: "mov " + "%r1," * (size // 4) + "%r1;\n",
            "sections": _repeat(".section .x{\n}\n"),
            "files": _count('.file # "a.py"\n'),
            "targets": lambda size: "L: .branchtargets " + "L," * (size // 2) + "L;\n",
        },
    ),
    "amdgcn": (
        _AMDGCN,
        {
            "instructions": _repeat("v_add_u32 v1, v2, v3\n"),
            "distinct": _count("v_add_u32 v1, v2, #\n"),
            "labels": _count(".L#:\n"),
            "loops": lambda size: _loops(size, ".L{}:\n", "s_cbranch_scc1 .L{}\n"),
            "forward": lambda size: _loops(size, "s_cbranch_scc1 .L{}\n", ".L{}:\n"),
            "branches": _count(".L#:\ns_cbranch_scc1 .L#\n"),
            "loc": _repeat(".loc 1 1 1\n"),
            "frames": _count(".loc 1 1 1 ; a.py:1:1 @[ b.py:#:1 ]\n"),
            "functions": _count("s_endpgm\n.type f#,@function\nf#:\n"),
            "waits": _repeat("s_waitcnt vmcnt(0)\n"),
            "loads": _repeat("global_load_dwordx4 v[0:3], v[4:5], off\n"),
            "operands": lambda size: "v_add_u32 " + "v1, " * (size // 4) + "v1\n",
            "metadata": lambda size: (
                ".amdgpu_metadata\n" + "- \n" * (size // 3) + ".end_amdgpu_metadata\n"
            ),
        },
    ),
    "llir": (
        _LLIR,
        {
            "instructions": _count("  %a# = add i32 1, 1, !dbg !1\n"),
            "labels": _count("l#:\n"),
            "blocks": _count("l#:\n  br label %l#\n"),
            "loops": lambda size: _loops(size, "l{}:\n", "  br i1 %c, label %l{}, label %l1\n"),
            "functions": _count("}\ndefine void @f#() {\n"),
            "unclosed": _count("define void @f#() {\n"),
            "nodes": _count("!# = !DILocation(line: 1, column: 1, scope: !1)\n"),
            "switch": lambda size: (
                "  switch i32 %a, label %b [\n" + " i32 1, label %b\n" * (size // 17) + "]\n"
            ),
        },
    ),
    "ttgir": (
        _MLIR,
        {
            "operations": _count("    %a# = arith.constant 1 : i32\n"),
            "loops": _nested("scf.for %i = %a to %b step %c : i32 {\n", "}\n"),
            "flat loops": _count("%x# = scf.for %i = %a to %b step %c : i32 {\n}\n"),
            "loads": _count("%a# = tt.load %arg0 : !tt.ptr<f32>\n"),
            "tensors": _count("%a# = arith.constant dense<1> : tensor<1x1xf32, #b>\n"),
            "aliases": _count("#l# = #ttg.blocked<{sizePerThread = [1]}>\n"),
            "locations": _count('#loc# = loc("a.py":1:1)\n'),
            "nested locations": _nested("loc(callsite(", "))"),
            "functions": _count("tt.return\n}\ntt.func @f#() {\n"),
            "chained": lambda size: _chain(size),
            "captures": _repeat("%a:2 = a.b\n"),
            "conversions": _count(
                "scf.for %i = %a to %a step %a : i32 {\n%c# = ttg.convert_layout %x : "
                "tensor<4x4xf16, #a> -> tensor<4x4xf16, #b>\n}\n"
            ),
            "copies and products": lambda size: (
                "%m = ttg.local_alloc : () -> "
                + _BUFFER
                + _count(
                    "\nscf.for %i = %a to %a step %a : i32 {\n"
                    "%p# = ttg.async_copy_global_to_local %arg0, %m : "
                    "tensor<4x4x!tt.ptr<f16>, #a> -> <4x4xf16, #s, #smem, mutable>\n"
                    f"%l# = ttg.local_load %m : {_BUFFER} -> tensor<4x4xf16, #a>\n"
                    "%d# = tt.dot %l#, %l#, %z : tensor<4x4xf16, #a> * tensor<4x4xf16, #a> -> "
                    "tensor<4x4xf32, #c>\n}"
                )(size)
                + "\n"
            ),
        },
    ),
    "sass": (
        _SASS,
        {
            "instructions": lambda size: _offsets(size, "IADD3 R1, R2, R3, RZ"),
            "loops": lambda size: _offsets(size, "@P0 BRA `(.L_x_#)", ".L_x_#:\n"),
            "labels": _count(".L_x_#:\n"),
            "locations": _count('//## File "a.py", line #\n'),
            "frames": _repeat('//## File "a.py", line 1 inlined at "a.py", line 1\n'),
        },
    ),
    "source": (
        ("", ""),
        {
            "functions": _count("def f#(): pass\n"),
            "kernels": _count("@triton.jit\ndef f#(x): pass\n"),
            "nested functions": lambda size: "".join(
                f"{' ' * depth}def f{depth}():\n" for depth in range(min(90, size))
            ),
            "nested calls": _nested("f(", ")"),
            "string": lambda size: f"x = '{'x' * size}'\n",
            "number": lambda size: f"x = {'9' * size}\n",
            "list": lambda size: f"x = [{'1,' * (size // 2)}]\n",
            "sum": lambda size: f"x = {'1+' * (size // 2)}1\n",
            "decorators": lambda size: "@f\n" * (size // 3) + "def k(): pass\n",
            "parameters": lambda size: f"def k({','.join(f'a{n}' for n in range(size // 9))}): 0",
        },
    ),
    "json": (
        ("", ""),
        {
            "lists": lambda size: '{"a":' + "[" * size,
            "closed lists": lambda size: '{"a":' + "[" * (size // 2) + "]" * (size // 2) + "}",
            "keys": lambda size: "{" + ",".join(f'"{n}":{n}' for n in range(size // 15)) + "}",
            "string": lambda size: '{"name":"' + "x" * size + '"}',
            "number": lambda size: '{"num_warps":' + "9" * size + "}",
        },
    ),
}


def _loops(size: int, opening: str, closing: str) -> str:
    """Return loops, each inside of the one before."""
    count = size // (len(opening) + len(closing) + 12)
    down = reversed(range(count))
    return "".join(map(opening.format, range(count))) + "".join(map(closing.format, down))


def _chain(size: int) -> str:
    count = size // 45
    return "".join(f"%v{n + 1} = arith.addi %v{n}, %v{n} : i32\n" for n in range(count))


def _offsets(size: int, code: str, label: str = "") -> str:
    parts = []
    for each in range(size // (len(code) + len(label) + 14)):
        name = str(each)
        parts.append(
            label.replace("#", name) + f" /*{each * 16:04x}*/ {code.replace('#', name)};\n"
        )
    return "".join(parts)


def accepted(make: Callable[[int], bytes], size: int) -> bytes:
    """Return the largest of some inputs that irlens does not refuse for its size."""
    from irlens.model import files
    from irlens.model.errors import ArtifactError

    while True:
        content = make(size)
        try:
            files.text(content, name="it")
        except ArtifactError as error:
            if "more than" in error.message:
                size = size * 9 // 10
                continue
        return content


def texts() -> Iterator[tuple[str, str, Callable[[int], bytes]]]:
    """Yield the text inputs: format, pattern and what makes the content of a size."""
    for stage, ((opening, closing), own) in PATTERNS.items():
        for name, pattern in {**(COMMON if stage != "json" else {}), **own}.items():

            def make(size: int, pattern: Pattern = pattern) -> bytes:
                return (opening + pattern(size) + closing).encode()  # noqa: B023

            yield stage, name, partial(accepted, make)
    for path in sorted(mutated.SAMPLES.rglob("*")):
        if path.suffix in (".ptx", ".amdgcn", ".llir", ".ttgir") and path.stat().st_size > 8000:
            body = partial(_repeat_body, path.read_text())
            yield path.suffix[1:], f"real {path.parent.name}", partial(accepted, body)


def _repeat_body(text: str, size: int) -> bytes:
    """Return the text of a kernel with its first function as often as fits."""
    lines = text.split("\n")
    starts = ("//", ".visible", "define", "  tt.func", ".globl", "\t.globl")
    first = next((n for n, line in enumerate(lines) if line.startswith(starts[1:])), 0)
    ends = ("}", "  }", ".Lfunc_end0:")
    last = next(n for n in range(len(lines) - 1, first, -1) if lines[n].startswith(ends))
    inside = [n for n in range(first, last) if lines[n].rstrip().endswith(("{", ":"))]
    begin = inside[0] + 1 if inside else first + 1
    end = next(
        (
            n
            for n in range(begin, last)
            if lines[n].lstrip().startswith(("ret", "tt.return", "s_endpgm"))
        ),
        last,
    )
    body = [line for line in lines[begin:end] if not line.lstrip().startswith(".reg")]
    count = max(1, size // max(1, sum(map(len, body)) + len(body)))
    return "\n".join([*lines[:end], *(body * (count - 1)), *lines[end:]]).encode()


def binaries() -> Iterator[tuple[str, str, Callable[[int], bytes]]]:
    """Yield damaged binaries: a sample's with its tables or its sections repeated."""
    for path in sorted(mutated.SAMPLES.rglob("*")):
        if path.suffix not in (".cubin", ".hsaco"):
            continue
        data = path.read_bytes()
        kind = path.suffix[1:]
        at = struct.unpack_from("<Q", data, 40)[0]
        table = data[at : at + struct.unpack_from("<H", data, 60)[0] * 64]
        for count in (10, 1000, 65000):
            many = (table * (count * 64 // max(1, len(table)) + 1))[: count * 64]
            header = bytearray(data)
            struct.pack_into("<Q", header, 40, len(data))
            struct.pack_into("<H", header, 60, count)
            content = bytes(header) + many
            yield kind, f"{count} sections", partial(_filled_up, content)
        for name in section_names(data):
            yield kind, f"repeated {name}"[:24], partial(_repeat_section, data, name)
        for value in (0, 0xFF, 0x81, 0x91, 0xDF):
            yield kind, f"filled with {value:#x}", partial(_fill_sections, data, value)
        if path.suffix == ".hsaco":
            return


def section_names(data: bytes) -> list[str]:
    """Return the names of the sections of a binary, each once."""
    from irlens.artifacts import elf

    return sorted({each.name for each in elf.read(data).sections if each.name and each.size})


def _repeat_section(data: bytes, name: str, size: int) -> bytes:
    """Give a section its own content many times: code, symbols, attributes, relocations, lines."""
    from irlens.artifacts import elf

    out, at = bytearray(data), struct.unpack_from("<Q", data, 40)[0]
    for index, each in enumerate(elf.read(data).sections):
        if each.name == name:
            content = data[each.offset : each.offset + each.size]
            many = content * max(1, (size - len(data)) // len(content))
            struct.pack_into("<QQ", out, at + index * 64 + 24, len(data), len(many))
            return bytes(out) + many
    return bytes(out)


def _filled_up(content: bytes, size: int) -> bytes:
    return content + b"\0" * max(0, size - len(content))


def _fill_sections(data: bytes, value: int, size: int) -> bytes:
    """Give every section with content a new one: many equal bytes."""
    out = bytearray(data)
    at = struct.unpack_from("<Q", data, 40)[0]
    names = struct.unpack_from("<H", data, 62)[0]
    for index in range(struct.unpack_from("<H", data, 60)[0]):
        kind = struct.unpack_from("<I", data, at + index * 64 + 4)[0]
        if kind not in (0, 2, 3, 8) and index != names:
            struct.pack_into("<QQ", out, at + index * 64 + 24, len(data), size)
    return bytes(out) + bytes([value]) * size


def read(path: Path) -> None:
    """Read an artifact as ``inspect`` does, and list its stages."""
    if path.suffix == ".sass":
        from irlens.analyze import sass_cfg, sass_pressure
        from irlens.isa import sass
        from irlens.model import files

        for section in sass.parse(files.text(path.read_bytes(), name=path.name)).sections:
            sass_cfg.build(section)
            sass_pressure.analyze(section, sass_cfg.build(section))
        return
    annotate = ["--stage", "llir", "--annotate"] if path.suffix == ".llir" else []
    sys.argv = ["irlens", "inspect", str(path), *annotate]
    from irlens import cli

    try:
        cli.main()
    except SystemExit:
        return


def measure(path: Path, limit: int) -> tuple[float, float, str]:
    """Return the processor seconds and bytes that an input costs, and what irlens said of it."""
    said = path.with_suffix(".said")
    process = os.fork()
    if not process:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        handle = os.open(said, os.O_CREAT | os.O_WRONLY)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        status = 0
        try:
            from irlens.model.errors import IrlensError

            try:
                read(path)
            except IrlensError as error:
                print("irlens: error:", error.message)
            sys.stdout.flush()
        except BaseException as error:
            os.write(2, f"failed: {error!r}".encode()[:500])
            status = 1
        os._exit(status)
    _, status, usage = os.wait4(process, 0)
    text = said.read_text(errors="replace") if said.exists() else ""
    if os.WIFSIGNALED(status):
        text = f"failed: killed by {signal.Signals(os.WTERMSIG(status)).name}"
    errors = [line for line in text.splitlines() if line.startswith(("irlens: error", "failed"))]
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        usage.ru_utime + usage.ru_stime,
        max(0, usage.ru_maxrss * 1024 - own),
        errors[0][:110] if errors else "",
    )


def measure_input(path: Path, content: bytes, limit: int) -> tuple[float, float, str]:
    """Return what ``measure`` says of an input; no file is left."""
    path.write_bytes(content)
    measured = measure(path, limit)
    path.unlink()
    path.with_suffix(".said").unlink(missing_ok=True)
    return measured


def main() -> int:
    """Print a row for each input; return 1 if any was too costly or failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=15)
    parser.add_argument("--limit", type=int, default=60, help="processor seconds of one input")
    parser.add_argument("--only", default="", help="the formats and patterns that hold this")
    options = parser.parse_args()
    size = int(options.megabytes * 1_000_000)
    failed = 0
    mutated.warm_up(mutated.find_captures([mutated.SAMPLES])[0])
    with tempfile.TemporaryDirectory(prefix="irlens-adversarial-") as folder:
        os.environ["IRLENS_CACHE_DIR"] = f"{folder}/cache"
        for maker in (texts, binaries):
            for stage, name, make in maker():
                if options.only not in f"{stage} {name}":
                    continue
                path, content = Path(folder) / f"k.{stage}", make(size)
                length = len(content)
                seconds, memory, said = measure_input(path, content, options.limit)
                growth = ""
                if seconds > _SOON:
                    del content
                    content = make(length // 2)
                    before, _, _ = measure_input(path, content, options.limit)
                    growth = (
                        f"{len(content) / 1e6:5.1f} MB {before:5.1f} s x{seconds / before:4.1f}"
                    )
                bad = seconds > mutated.SECONDS or memory > mutated.MEMORY or "failed" in said
                failed += bad
                print(
                    f"{'!' if bad else ' '} {stage:7} {name:24} {length / 1e6:5.1f} MB "
                    f"{seconds:6.1f} s {memory / 1e6:5.0f} MB  {growth:22}  {said}",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
