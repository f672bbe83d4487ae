"""loops.py FOLDER: compiles, without a GPU, what loops.tar.xz is made of.

Each kernel leaves NAME.amdgcn and NAME.mir. The latter is LLVM's last machine IR, boiled down to
what it says of registers: one line per instruction, "what it writes | what it reads | what of
that is undefined"; "bb N: registers" lists what is live where block N begins; the first line
names the registers that are undefined somewhere.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.jit import MockTensor


@triton.jit
def softmax(
    y_ptr, x_ptr, x_stride, y_stride, n_rows, n_cols, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        cols = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_stride + cols, mask=cols < n_cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * y_stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sa + rk[None, :]
    b = b_ptr + rk[:, None] * sb + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a), tl.load(b))
        a += BK
        b += BK * sb
    tl.store(c_ptr + rm[:, None] * sc + rn[None, :], acc.to(tl.float16))


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, n, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, HEAD)
    q = tl.load(q_ptr + m[:, None] * HEAD + d[None, :])
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    for start in range(0, n, BN):
        c = start + tl.arange(0, BN)
        k = tl.load(k_ptr + c[None, :] * HEAD + d[:, None])
        s = tl.dot(q, k)
        new = tl.maximum(best, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        scale = tl.exp2(best - new)
        total = total * scale + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * HEAD + d[None, :])
        acc = acc * scale[:, None] + tl.dot(p.to(tl.float16), v)
        best = new
    tl.store(o_ptr + m[:, None] * HEAD + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def gather(i_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in tl.range(0, n, BLOCK, num_stages=3):
        i = tl.load(i_ptr + j + tl.arange(0, BLOCK))
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def walk(next_ptr, y_ptr, at):
    count = 0
    while at > 0:
        at = tl.load(next_ptr + at)
        count += 1
    tl.store(y_ptr, count)


@triton.jit
def chase(next_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for _ in range(n):
        at = tl.load(next_ptr + at)
    tl.store(y_ptr + tl.arange(0, BLOCK), at)


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, n, BLOCK):
        acc += tl.load(x_ptr + j + tl.arange(0, BLOCK), mask=j + tl.arange(0, BLOCK) < n, other=0.0)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def some(flag_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, n):
        if tl.load(flag_ptr + j) > 0:
            acc += tl.load(x_ptr + j * BLOCK + tl.arange(0, BLOCK))
        else:
            acc = tl.exp(acc)
    tl.store(y_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def tiles(a_ptr, b_ptr, c_ptr, n, K, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, BM)
    rk = tl.arange(0, BK)
    for tile in range(tl.program_id(0), n, tl.num_programs(0)):
        acc = tl.zeros((BM, BM), dtype=tl.float32)
        for k in range(0, K, BK):
            a = tl.load(a_ptr + (tile * BM + rm[:, None]) * K + k + rk[None, :])
            b = tl.load(b_ptr + (k + rk[:, None]) * BM + rm[None, :])
            acc += tl.dot(a, b)
        tl.store(c_ptr + (tile * BM + rm[:, None]) * BM + rm[None, :], acc.to(tl.float16))


F, H, I = MockTensor(tl.float32), MockTensor(tl.float16), MockTensor(tl.int32)
GEMM = (H, H, H, 512, 512, 512, 512)


def cases():
    """Each kernel's name and target, with what to call it with."""
    for stages in (1, 2, 3, 4, 5):
        yield (
            f"softmax_s{stages}.gfx942",
            softmax,
            (F, F, 1024, 1024, 4096, 1024),
            dict(BLOCK=1024, STAGES=stages, num_warps=8),
        )
    for target in ("gfx908", "gfx90a", "gfx950", "gfx1100", "gfx1250"):
        yield (
            f"softmax_s3.{target}",
            softmax,
            (F, F, 1024, 1024, 4096, 1024),
            dict(BLOCK=1024, STAGES=3, num_warps=8),
        )
    for target in ("gfx942", "gfx950", "gfx1100", "gfx1201"):
        for stages in (1, 2, 3):
            yield (
                f"matmul_s{stages}.{target}",
                matmul,
                GEMM,
                dict(BM=64, BN=64, BK=32, num_stages=stages),
            )
    yield "matmul_s4.gfx950", matmul, GEMM, dict(BM=64, BN=64, BK=32, num_stages=4)
    yield "matmul_s3.gfx1250", matmul, GEMM, dict(BM=64, BN=64, BK=32, num_stages=3)
    yield "wide_s2.gfx908", matmul, GEMM, dict(BM=128, BN=256, BK=64, num_stages=2)
    for target in ("gfx90a", "gfx942"):
        yield f"wider_s2.{target}", matmul, GEMM, dict(BM=256, BN=256, BK=64, num_stages=2)
    for target in ("gfx908", "gfx942", "gfx950", "gfx1250"):
        yield (
            f"attention_s2.{target}",
            attention,
            (H, H, H, H, 1024),
            dict(BM=128, BN=64, HEAD=64, num_stages=2),
        )
    yield "gather_s3.gfx942", gather, (I, F, F, 4096), dict(BLOCK=512)
    yield "walk.gfx942", walk, (I, I, 5), {}
    yield "chase.gfx942", chase, (I, I, 64), dict(BLOCK=512)
    yield "total.gfx942", total, (F, F, 4096), dict(BLOCK=512, num_stages=4)
    yield "some.gfx942", some, (I, F, F, 64), dict(BLOCK=512)
    yield "tiles_s2.gfx942", tiles, (H, H, H, 64, 512), dict(BM=64, BK=32, num_stages=2)


class Pretended(DriverBase):
    """A GPU that is not there."""

    def __init__(self, arch):
        self.target = GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)

    @classmethod
    def is_active(cls):
        return True

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return None

    def get_benchmarker(self):
        raise NotImplementedError

    def map_python_to_cpp_type(self, type):
        return type


_REGISTER = re.compile(
    r"\$(vgpr|agpr|sgpr)(\d+)((?:_(?:vgpr|agpr|sgpr)\d+)*)(?::0x([0-9A-F]+))?|\$vcc(_lo|_hi)?\b"
)
_NO_INSTRUCTIONS = (
    "ASYNCMARK",
    "BUNDLE",
    "CFI_",
    "DBG_",
    "FAKE_USE",
    "IGLP",
    "IMPLICIT_DEF",
    "KILL",
    "LIFETIME",
    "SCHED_",
    "WAIT_ASYNCMARK",
    "WAVE_BARRIER",
    "fi#",
)
_FLAGS = frozenset(
    (
        "nuw nsw exact nofpexcept nnan ninf nsz arcp contract afn reassoc frame-setup"
        " disjoint nneg internal nusw samesign inbounds dead renamable"
    ).split()
)
_STATES = r"(?:killed |renamable |dead |internal |early-clobber )*"


def registers(text):
    found = set()
    for match in _REGISTER.finditer(text):
        if match[1] is None:
            found |= {"vcc0", "vcc1"} if not match[5] else {"vcc0" if match[5] == "_lo" else "vcc1"}
            continue
        for n in range(1 + match[3].count("_")):
            # A mask says which 16-bit halves of a tuple are meant.
            if match[4] is None or int(match[4], 16) >> 2 * n & 3:
                found.add(f"{match[1][0]}{int(match[2]) + n}")
    return found


def boil_down(dump):
    body = re.split(r"^# \*\*\* IR Dump After Stack Frame Layout.*$", dump, flags=re.M)[-1]
    body = body[: body.index("# End machine code for function")]
    lines, undefined = [], set()
    for line in body.split("\n"):
        text = line.strip().removeprefix("}").strip()
        if block := re.match(r"bb\.(\d+)", text):
            lines.append(f"bb {block[1]}:")
        elif text.startswith("liveins:"):
            lines[-1] += " " + " ".join(sorted(registers(text)))
        elif line.startswith(" ") and not text.startswith((";", "successors", "predecessors")):
            code = re.sub(r"debug-location.*", "", text.split(" :: ")[0]).split("; ")[0]
            left, equals, right = code.partition(" = ")
            if not equals:
                left, right = "", code
            words = right.split()
            while words and words[0] in _FLAGS:
                words.pop(0)
            if "IMPLICIT_DEF" in code:
                undefined |= registers(left)
            if not words or words[0].startswith(_NO_INSTRUCTIONS):
                continue
            right = " ".join(words)
            # A part of a tuple that is written or read in parts names the whole tuple as implicit.
            written = registers(left) | registers(
                " ".join(re.findall(rf"implicit-def {_STATES}\$vcc\w*", right))
            )
            right = re.sub(rf"implicit-def {_STATES}\$\w+", "", right)
            right = re.sub(rf"implicit (?:undef )?{_STATES}(?:undef )?\$(?!vcc)\w+", "", right)
            unread = registers(" ".join(re.findall(rf"undef {_STATES}\$\w+", right)))
            right = re.sub(rf"undef {_STATES}\$\w+", "", right)
            undefined |= unread
            sets = (written, registers(right), unread)
            lines.append(" | ".join(" ".join(sorted(each)) for each in sets))
    return "\n".join([" ".join(["undefined", *sorted(undefined)]), *lines, ""])


def compile_one(name):
    target = name.rpartition(".")[2]
    kernel, arguments, options = {case[0]: case[1:] for case in cases()}[name]
    triton.runtime.driver.set_active(Pretended(target))
    compiled = kernel.warmup(*arguments, **options, grid=(1,))
    sys.stdout.write(compiled.asm["amdgcn"])


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, *_ in cases():
        with tempfile.TemporaryDirectory() as cache:
            setting = {
                "LLVM_IR_ENABLE_DUMP": "1",
                "TRITON_CACHE_DIR": cache,
                "TRITON_DEFAULT_FP_FUSION": "1",
            }
            done = subprocess.run(
                [sys.executable, __file__, "--one", name],
                env=os.environ | setting,
                capture_output=True,
                text=True,
                check=True,
            )
        here, library = (
            str(pathlib.Path(__file__).parent),
            str(pathlib.Path(triton.__file__).parent),
        )
        assembly = done.stdout.replace(here, "/kernels").replace(library, "/triton")
        (folder / f"{name}.amdgcn").write_text(assembly)
        (folder / f"{name}.mir").write_text(boil_down(done.stderr))
        print(name)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        compile_one(sys.argv[2])
    else:
        main(pathlib.Path(sys.argv[1]))
